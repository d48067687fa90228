//! The hits of a page, with their texts.

use std::collections::HashMap;

use vidra::transcript::FullTranscript;
use vidra::{Error, Result, VideoId};

use super::postings::Reader;
use crate::passage::{PassageStart, read_layout};
use crate::search::{
    Clause, Excerpt, Hit, HitMoment, HitVideo, TextSearch, VideoHit, field_moment,
};
use crate::store::sql::{Numbers, Row, params};
use crate::store::transcripts::{PACKED, packed};
use crate::transcript::PackedText;

/// The most moments of a video in a list of videos.
const BEST: usize = 3;

/// A moment in its order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) transcript: i64,
    /// `None` for a title or a description.
    pub(super) passage: Option<usize>,
}

/// The clauses that captions can match.
pub(super) fn spoken_clauses(request: &TextSearch) -> Vec<Clause> {
    let spoken = |clause: &&Clause| clause.atoms.iter().any(|atom| !atom.is_title);
    match request.fields.speech {
        true => request.query.clauses.iter().filter(spoken).cloned().collect(),
        false => vec![],
    }
}

/// How many transcripts one statement reads. They stay compressed until it is their turn.
const TRANSCRIPTS: usize = 20;

/// A compressed transcript, with the data of its video and the starts of its passages.
type CompressedText = (HitVideo, PackedText, Vec<u8>);

/// A transcript of a page, with the data of its video.
struct Text {
    video: HitVideo,
    transcript: FullTranscript,
    layout: Vec<PassageStart>,
}

/// Reads the texts of hits.
pub(super) struct PageTexts<'a> {
    reader: &'a Reader<'a>,
    request: &'a TextSearch,
}

impl<'a> PageTexts<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, request: &'a TextSearch) -> Self {
        Self { reader, request }
    }

    /// The hits of moments, in their order. A damaged transcript has none.
    pub(super) fn hits(&self, moments: &[Ranked]) -> Result<Vec<Hit>> {
        let mut order: Vec<usize> = (0..moments.len()).collect();
        order.sort_by_key(|at| moments[*at].transcript);
        let of_transcripts: Vec<&[usize]> =
            order.chunk_by(|a, b| moments[*a].transcript == moments[*b].transcript).collect();
        let mut hits: Vec<(usize, Hit)> = vec![];
        let number = |it: &&[usize]| moments[it[0]].transcript;
        self.each_text(&of_transcripts, number, |of_transcript, text| {
            hits.extend(of_transcript.iter().filter_map(|at| {
                let moment = moment(&text, self.request, moments[*at].passage)?;
                Some((*at, Hit { video: text.video.clone(), moment }))
            }));
        })?;
        hits.sort_by_key(|(at, _)| *at);
        Ok(hits.into_iter().map(|(_, hit)| hit).collect())
    }

    /// Videos with their best moments. One with a damaged transcript is left out.
    pub(super) fn videos(&self, videos: &[Vec<Ranked>]) -> Result<Vec<VideoHit>> {
        let mut hits = vec![];
        self.each_text(
            videos,
            |moments| moments[0].transcript,
            |moments, text| {
                let best = moments.iter().take(BEST);
                hits.push(VideoHit {
                    moment_count: moments.len() as u64,
                    moments: best
                        .filter_map(|it| moment(&text, self.request, it.passage))
                        .collect(),
                    video: text.video,
                });
            },
        )?;
        Ok(hits)
    }

    /// Calls `each` with every item and the text of its transcript. One text is in memory at a time.
    fn each_text<T>(
        &self,
        items: &[T],
        transcript_of: impl Fn(&T) -> i64,
        mut each: impl FnMut(&T, Text),
    ) -> Result<()> {
        for items in items.chunks(TRANSCRIPTS) {
            let mut read = self.read(items.iter().map(&transcript_of).collect())?;
            for item in items {
                self.reader.check_deadline()?;
                let Some((video, packed, starts)) = read.remove(&transcript_of(item)) else {
                    continue;
                };
                if let Ok(transcript) = packed.searched() {
                    each(item, Text { video, transcript, layout: read_layout(&starts) });
                }
            }
        }
        Ok(())
    }

    /// Compressed transcripts by their numbers, with the data of their videos and the starts of their passages.
    fn read(&self, numbers: Vec<i64>) -> Result<HashMap<i64, CompressedText>> {
        let connection = self.reader.connection;
        let query = format!(
            "SELECT it.number, {PACKED}, starts, {VIDEO}
            FROM transcripts AS it JOIN search_layouts_{} AS layout ON layout.transcript = it.number
                JOIN search_tracks AS t ON t.transcript = it.number LEFT JOIN videos ON videos.id = t.video
            WHERE it.number IN ({})",
            self.reader.index,
            connection.dialect().numbers()
        );
        let read = connection.query_map(&query, params![Numbers(numbers)], |row| {
            Ok((row.get("number")?, (read_video(row)?, packed(row)?, row.get("starts")?)))
        })?;
        Ok(read.into_iter().collect())
    }
}

fn moment(text: &Text, request: &TextSearch, passage: Option<usize>) -> Option<HitMoment> {
    let Text { video, transcript, layout } = text;
    if let Some(passage) = passage {
        let clauses = &spoken_clauses(request)[..];
        let excerpt = Excerpt { transcript, layout, clauses, context: request.context };
        return excerpt.moment(passage);
    }
    let (fields, clauses) = (request.fields, &request.query.clauses);
    let description = || {
        let text = fields.description.then_some(&transcript.description)?;
        field_moment(video.video_id, "description", text, clauses, true)
    };
    // The title in the index. The video can have another one now.
    let title = &transcript.info.title;
    field_moment(video.video_id, "title", title, clauses, fields.title).or_else(description)
}

/// The columns of [`read_video`], of `search_tracks AS t`, `transcripts AS it` and `videos`.
pub(super) const VIDEO: &str =
    "t.video, coalesce(videos.title, '') AS title, coalesce(videos.channel, '') AS channel_title,
    coalesce(t.channel, '') AS channel, t.published_at, t.language, it.is_auto_generated";

pub(super) fn read_video(row: &Row) -> Result<HitVideo> {
    let video: String = row.get("video")?;
    let published: Option<i64> = row.get("published_at")?;
    Ok(HitVideo {
        video_id: VideoId::parse(&video).map_err(Error::internal)?,
        title: row.get("title")?,
        channel: row.get("channel_title")?,
        channel_id: row.get("channel")?,
        published_at: published.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()),
        lang: row.get("language")?,
        is_auto_generated: row.get("is_auto_generated")?,
    })
}
