//! The hits of a page, with their texts.

use vidra::transcript::FullTranscript;
use vidra::{Error, Result, VideoId};

use super::postings::Reader;
use crate::passage::PassageStart;
use crate::search::{
    Clause, Excerpt, Hit, HitMoment, HitVideo, TextSearch, VideoHit, field_moment,
};
use crate::store::sql::{Connection, Row};

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

    /// The hits of moments, in their order. A transcript is read once, and one is in memory at a time. A damaged one has
    /// no hits.
    pub(super) fn hits(&self, moments: &[Ranked]) -> Result<Vec<Hit>> {
        let mut order: Vec<usize> = (0..moments.len()).collect();
        order.sort_by_key(|at| moments[*at].transcript);
        let mut hits: Vec<(usize, Hit)> = vec![];
        for of_transcript in order.chunk_by(|a, b| moments[*a].transcript == moments[*b].transcript)
        {
            let Some(text) = self.read(moments[of_transcript[0]].transcript)? else { continue };
            hits.extend(of_transcript.iter().filter_map(|at| {
                let moment = moment(&text, self.request, moments[*at].passage)?;
                Some((*at, Hit { video: text.video.clone(), moment }))
            }));
        }
        hits.sort_by_key(|(at, _)| *at);
        Ok(hits.into_iter().map(|(_, hit)| hit).collect())
    }

    /// A video with its best moments. `None` if its transcript is damaged.
    pub(super) fn video(&self, moments: &[Ranked]) -> Result<Option<VideoHit>> {
        let Some(first) = moments.first() else { return Ok(None) };
        Ok(self.read(first.transcript)?.map(|text| VideoHit {
            moment_count: moments.len() as u64,
            moments: moments
                .iter()
                .take(BEST)
                .filter_map(|it| moment(&text, self.request, it.passage))
                .collect(),
            video: text.video,
        }))
    }

    fn read(&self, number: i64) -> Result<Option<Text>> {
        let Some((transcript, layout)) = self.reader.transcript(number)? else { return Ok(None) };
        let video = video_of(self.reader.connection, number)?;
        Ok(video.map(|video| Text { video, transcript, layout }))
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

/// The columns of [`read_video`].
pub(super) const VIDEO: &str =
    "t.video, coalesce(videos.title, '') AS title, coalesce(videos.channel, '') AS channel_title,
    coalesce(t.channel, '') AS channel, t.published_at, t.language";

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
    })
}

fn video_of(connection: &Connection, transcript: i64) -> Result<Option<HitVideo>> {
    let query = format!(
        "SELECT {VIDEO} FROM search_tracks AS t LEFT JOIN videos ON videos.id = t.video WHERE t.transcript = ?"
    );
    connection.query_optional(&query, [transcript], read_video)
}
