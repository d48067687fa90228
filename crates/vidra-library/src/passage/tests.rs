use super::*;

fn cues(texts: &[&str]) -> Vec<Cue> {
    (0..).zip(texts).map(|(at, text)| Cue::new(at * 2_000, 2_000, *text)).collect()
}

fn rows(cues: &[Cue], chapters: &[Chapter]) -> IndexRows {
    let speech = Speech::new(cues);
    let mut builder = Builder::new(cues, chapters);
    speech.each_token(|token, cue| builder.add(token.text, cue));
    builder.finish()
}

/// Captions of `each` numbered words.
fn numbered(count: usize, each: usize) -> Vec<Cue> {
    let text =
        |cue: usize| (0..each).map(|word| format!("w{}", cue * each + word)).collect::<Vec<_>>();
    let texts: Vec<String> = (0..count).map(|cue| text(cue).join(" ")).collect();
    cues(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn captions_are_joined_as_their_script_is_written() {
    let table = [
        (&["one", "two"][..], "one two"),
        (&["one\ntwo", " three "], "one two three"),
        (&["東京", "都は"], "東京都は"),
        (&["東京\n都"], "東京都"),
        (&["東京", "Tower"], "東京 Tower"),
        (&["สวัส", "ดี"], "สวัสดี"),
        (&["ខ្មែរ\u{200B}", "ភាសា"], "ខ្មែរ\u{200B}ភាសា"),
        (&["", "one", "", "two"], "one two"),
        (&["서울", "에서"], "서울 에서"),
    ];
    for (texts, joined) in table {
        assert_eq!(Speech::new(&cues(texts)).text, joined);
    }
}

#[test]
fn a_token_belongs_to_the_caption_in_which_it_begins() {
    let speech = Speech::new(&cues(&["a", "", "東", "京 b"]));
    let found: Vec<(String, usize)> =
        speech.tokens().into_iter().map(|it| (it.text, it.cue)).collect();
    let expected = [("a", 0), ("東京", 2), ("京", 3), ("b", 3)];
    assert_eq!(found, expected.map(|(text, cue)| (text.to_owned(), cue)));
}

#[test]
fn passages_have_about_a_hundred_words_and_end_between_captions() {
    let rows = rows(&numbered(100, 7), &[]);
    let sizes: Vec<usize> = rows.passages.iter().map(|it| it.split(' ').count()).collect();
    assert_eq!(rows.word_count, 700);
    assert_eq!(sizes.iter().sum::<usize>(), 700);
    assert!(sizes[..sizes.len() - 1].iter().all(|size| (95..=105).contains(size)), "{sizes:?}");
    assert!(read_layout(&rows.layout).iter().all(|it| it.token == 0));
}

#[test]
fn a_long_caption_is_divided() {
    let rows = rows(&numbered(3, 500), &[]);
    let starts = read_layout(&rows.layout);
    assert_eq!(starts.len(), rows.passages.len());
    assert!(starts.contains(&PassageStart { cue: 0, token: MOST }), "{starts:?}");
    assert!(rows.passages.iter().all(|it| it.split(' ').count() <= MOST));
}

#[test]
fn seams_have_the_words_around_a_border() {
    let rows = rows(&numbered(30, 10), &[]);
    assert_eq!(rows.passages.len(), 3);
    assert_eq!(rows.seams.len(), 2);
    assert_eq!(
        rows.seams[0],
        "bw93 bw94 bw95 bw96 bw97 bw98 bw99 aw100 aw101 aw102 aw103 aw104 aw105 aw106"
    );
}

#[test]
fn a_passage_has_the_words_of_its_chapter() {
    let chapters = Chapter::parse_all("0:00 Intro\n0:25 The Main\n0:50 End", 100);
    let rows = rows(&numbered(30, 10), &chapters);
    let chapter = |index: usize| rows.passages[index].split(' ').skip(100).collect::<Vec<_>>();
    assert_eq!(chapter(0), [format!("{CHAPTER}intro")]);
    assert_eq!(chapter(2), [format!("{CHAPTER}the"), format!("{CHAPTER}main")]);
}

#[test]
fn words_are_listed_once() {
    let rows = rows(&cues(&["to be or", "not to be"]), &[]);
    assert_eq!(rows.words, "to be or not");
    assert_eq!(rows.passages, ["to be or not to be"]);
}

#[test]
fn a_transcript_without_words_has_no_passages() {
    for texts in [&[][..], &["♪♪"], &["", " "]] {
        assert_eq!(rows(&cues(texts), &[]), IndexRows::default());
    }
}

#[test]
fn damaged_layouts_are_read_without_harm() {
    let good = rows(&numbered(60, 10), &[]).layout;
    assert_eq!(read_layout(&good).len(), 6);
    for cut in 0..good.len() {
        assert!(read_layout(&good[..cut]).len() < 6);
    }
    read_layout(&[0xFF; 40]);
}

/// Every token is in exactly one passage and in order, the layout finds it again, and seams join what follows.
fn check(cues: &[Cue]) {
    let rows = rows(cues, &[]);
    let tokens = Speech::new(cues).tokens();
    let in_passages: Vec<&str> = rows.passages.iter().flat_map(|it| it.split(' ')).collect();
    let all: Vec<&str> = tokens.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(in_passages, all);
    let starts = read_layout(&rows.layout);
    assert_eq!(starts.len(), rows.passages.len());
    assert_eq!(rows.seams.len(), rows.passages.len().saturating_sub(1));
    let mut at = 0;
    for (start, passage) in starts.iter().zip(&rows.passages) {
        assert_eq!(tokens[at].cue, start.cue);
        assert_eq!(tokens[..at].iter().filter(|it| it.cue == start.cue).count(), start.token);
        at += passage.split(' ').count();
    }
}

#[test]
fn any_captions_have_passages() {
    let seconds = std::env::var("VIDRA_FUZZ_SECONDS").ok().and_then(|it| it.parse().ok());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds.unwrap_or(0));
    let mut random = fastrand::Rng::with_seed(seconds.map_or(1, |_| fastrand::u64(..)));
    let words =
        ["word", "wörd", "東京", "สวัสดี", "it's", "♪", "", "नमस्ते", "שלום", "한국", "\u{301}"];
    let mut rounds = 0;
    while rounds < 200 || std::time::Instant::now() < until {
        rounds += 1;
        let longest = [3, 20, 400][random.usize(..3)];
        let texts: Vec<String> = (0..random.usize(0..60))
            .map(|_| {
                let separator = [" ", "\n", ""][random.usize(..3)];
                let words =
                    (0..random.usize(0..longest)).map(|_| words[random.usize(..words.len())]);
                words.collect::<Vec<_>>().join(separator)
            })
            .collect();
        check(&cues(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    if seconds.is_some() {
        println!("{rounds} transcripts");
    }
}
