use super::*;

fn tokens(text: &str) -> Vec<String> {
    let mut found = vec![];
    segment(text, |token| {
        assert!(text.get(token.range()).is_some(), "{token:?} in {text}");
        found.push(token.text.to_owned());
    });
    found
}

/// Text, and its tokens separated by spaces.
const TABLE: &[(&str, &str)] = &[
    // Latin, with accents.
    ("Hello, World! It's 3.14 (e-mail)", "hello world it s 3 14 e mail"),
    ("déjà-vu naïve Ångström Łódź Øre", "deja vu naive angstrom lodz ore"),
    ("de\u{301}ja\u{300}", "deja"),
    ("l'homme d’État", "l homme d etat"),
    ("Œuvre æsir Þór", "oeuvre aesir thor"),
    ("ﬁne ＡＢＣ　１２", "fine abc 12"),
    ("soft\u{AD}hyphen zero\u{200B}width", "softhyphen zerowidth"),
    ("Tiếng Việt đường", "tieng viet duong"),
    // German.
    ("Straße STRASSE ẞ Müller Äpfel", "strasse strasse ss muller apfel"),
    // Turkish: dotted and dotless i.
    ("İstanbul ISPARTA ısı ışık", "istanbul isparta isi isik"),
    // Greek, with a final sigma.
    ("Οδυσσεύς ΟΔΥΣΣΕΥΣ Άνθρωπος", "οδυσσευσ οδυσσευσ ανθρωποσ"),
    // Russian and other Cyrillic: stress marks go, letters stay.
    ("Ёлка за́мок мой мои Й", "елка замок мой мои й"),
    ("Її ґанок Україна ў ќе", "її ґанок україна ў ќе"),
    // Arabic, with and without vowel marks, and stretched.
    ("مُحَمَّدٌ محمد محـــمد", "محمد محمد محمد"),
    ("أحمد إلى آخر", "أحمد إلى آخر"),
    // Persian with a joiner.
    ("می\u{200C}خواهم میخواهم", "میخواهم میخواهم"),
    // Hebrew, with and without vowel marks, and abbreviations.
    ("שָׁלוֹם שלום", "שלום שלום"),
    ("צה\"ל צה״ל ארה'ב \"שלום\"", "צהל צהל ארהב שלום"),
    // Hindi: vowel signs are part of a word.
    ("नमस्ते दुनिया, हिन्दी।", "नमस्ते दुनिया हिन्दी"),
    ("क़लम क\u{93C}लम", "क\u{93C}लम क\u{93C}लम"),
    // Korean has spaces.
    ("안녕하세요 세계", "안녕하세요 세계"),
    ("\u{1112}\u{1161}\u{11AB}", "한"),
    // Thai, Chinese, Japanese, Lao, Khmer, Burmese: pairs, and the last character.
    ("สวัสดี", "สว วั ัส สด ดี ี"),
    ("東京都", "東京 京都 都"),
    ("我爱AI和你", "我爱 爱 ai 和你 你"),
    ("東", "東"),
    ("今日は、晴れ", "今日 日は は 晴れ れ"),
    ("カタカナ ｶﾀｶﾅ", "カタ タカ カナ ナ カタ タカ カナ ナ"),
    ("ガ ｶﾞ か\u{3099}", "ガ ガ が"),
    ("スーパー", "スー ーパ パー ー"),
    ("ລາວ", "ລາ າວ ວ"),
    ("ខ្មែរ", "ខ្ ្ម មែ ែរ រ"),
    ("မြန်မာ", "မြ ြန န် ်မ မာ ာ"),
    ("ไทย\u{200B}แลนด์", "ไท ทย ยแ แล ลน นด ด์ ์"),
    ("ปี ๒๕๖๙", "ปี ี ๒๕๖๙"),
    // Signs without a sound.
    ("♪ [Music] >> 👍🏽 — …", "music"),
    // Marks without a letter, and characters that are another way to write Chinese ones.
    ("t \u{5C1}مa \u{301}", "t مa"),
    ("jp㆒t 〸 ㈠", "jp 一 t 十 一"),
    ("", ""),
    ("C++ #1 50%", "c 1 50"),
];

#[test]
fn text_has_these_tokens() {
    for (text, expected) in TABLE {
        let expected: Vec<&str> = expected.split(' ').filter(|it| !it.is_empty()).collect();
        assert_eq!(tokens(text), expected, "{text}");
        assert_eq!(tokens(&text.nfd().collect::<String>()), expected, "{text} decomposed");
        assert_eq!(tokens(&text.nfc().collect::<String>()), expected, "{text} composed");
    }
}

#[test]
fn numerals_of_other_scripts_are_words() {
    assert_eq!(tokens("٢٠٢٦ ２０２６"), ["٢٠٢٦", "2026"]);
}

#[test]
fn a_long_word_is_cut() {
    let word = "x".repeat(1_000);
    assert_eq!(tokens(&word), ["x".repeat(MAX_LENGTH)]);
    let accents = "é".repeat(1_000);
    assert_eq!(tokens(&accents), ["e".repeat(MAX_LENGTH)]);
}

#[test]
fn tokens_have_their_places() {
    let mut found = vec![];
    let text = "Größe 東京!";
    segment(text, |token| found.push((text[token.range()].to_owned(), token.in_run)));
    let in_run = |head_end, is_last| Some(InRun { head_end, is_last });
    assert_eq!(
        found,
        [
            ("Größe".to_owned(), None),
            ("東京".to_owned(), in_run(11, false)),
            ("京".to_owned(), in_run(14, true))
        ]
    );
}

/// Every text divides, tokens are in order, inside the text and never empty; a folded token folds to itself; and the parts
/// of a run put together are the run.
fn check(text: &str) {
    let mut last = 0;
    segment(text, |token| {
        assert!(!token.text.is_empty() && !token.text.contains([' ', '"']), "{token:?}");
        assert!(token.start >= last && token.end > token.start, "{token:?} after {last}");
        assert!(text.get(token.range()).is_some());
        last = token.start;
        let again = tokens(token.text);
        if token.in_run.is_none() {
            assert_eq!(again, [token.text], "{text:?}");
        }
    });
}

#[test]
fn every_character_divides() {
    for character in (char::MIN..=char::MAX).filter(|it| class_of(*it) != Class::Separator) {
        check(&format!("{character} a{character}b 東{character}京 م{character}"));
    }
}

#[test]
fn any_text_divides() {
    // The long form runs for as many seconds as VIDRA_FUZZ_SECONDS says.
    let seconds = std::env::var("VIDRA_FUZZ_SECONDS").ok().and_then(|it| it.parse().ok());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds.unwrap_or(0));
    let alphabet: Vec<char> = TABLE.iter().flat_map(|(text, _)| text.chars()).collect();
    let mut random = fastrand::Rng::with_seed(seconds.map_or(1, |_| fastrand::u64(..)));
    let mut rounds = 0;
    while rounds < 2_000 || std::time::Instant::now() < until {
        rounds += 1;
        let length = random.usize(0..40);
        let character = |random: &mut fastrand::Rng| match random.u8(0..8) {
            0 => random.char(..),
            1 => ' ',
            _ => alphabet[random.usize(..alphabet.len())],
        };
        let text: String = (0..length).map(|_| character(&mut random)).collect();
        check(&text);
    }
    if seconds.is_some() {
        println!("{rounds} texts");
    }
}
