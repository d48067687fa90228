//! The player's response in YouTube's format, parsed leniently.

use crate::lenient::shapes;

shapes! {
    Player {
        playability_status: Playability,
        video_details: VideoDetails,
        captions: Captions,
        microformat: Microformat,
    }

    Playability {
        status: String,
        reason: String,
        reason_title: String,
        messages: Vec<String>,
        error_screen: ErrorScreen,
        desktop_legacy_age_gate_reason: u64,
    }

    ErrorScreen {
        player_error_message_renderer: ErrorMessage,
        player_captcha_view_model: Anything,
    }

    ErrorMessage {
        reason: Text,
        subreason: Text,
    }

    VideoDetails {
        video_id: String,
        title: String,
        author: String,
        channel_id: String,
        length_seconds: u64,
        short_description: String,
        is_live: bool,
    }

    /// Only web players send it.
    Microformat {
        player_microformat_renderer: PlayerMicroformat,
    }

    PlayerMicroformat {
        publish_date: String,
    }

    Captions {
        player_captions_tracklist_renderer: Tracklist,
        player_captions_renderer: Anything,
    }

    Tracklist {
        caption_tracks: Vec<CaptionTrack>,
        audio_tracks: Vec<AudioTrack>,
        default_audio_track_index: u64,
        translation_languages: Vec<TranslationLanguage>,
    }

    TranslationLanguage {
        language_code: String,
        language_name: Text,
    }

    CaptionTrack {
        base_url: String,
        name: Text,
        vss_id: String,
        language_code: String,
        kind: String,
        is_translatable: bool,
    }

    AudioTrack {
        default_caption_track_index: u64,
        audio_track_id: String,
    }

    /// Text for people, in the old form or as runs.
    Text {
        simple_text: String,
        runs: Vec<Run>,
    }

    Run {
        text: String,
    }

    /// An object of which only the presence matters.
    Anything {}
}

impl Text {
    pub(crate) fn joined(&self) -> String {
        let runs = || self.runs.iter().flatten().filter_map(|run| run.text.as_deref()).collect();
        self.simple_text.clone().unwrap_or_else(runs)
    }
}

impl Playability {
    /// All messages, in lower case and with plain apostrophes. The decisive words can be in the
    /// reason, in the messages or on the error screen.
    pub(crate) fn words(&self) -> String {
        let screen = self
            .error_screen
            .as_ref()
            .and_then(|screen| screen.player_error_message_renderer.as_ref());
        let on_screen = screen.into_iter().flat_map(|screen| [&screen.reason, &screen.subreason]);
        let on_screen = on_screen.flatten().map(Text::joined);
        let said = [&self.reason, &self.reason_title].into_iter().flatten().cloned();
        let messages = self.messages.iter().flatten().cloned();
        let all: Vec<String> = said.chain(messages).chain(on_screen).collect();
        all.join(" ").replace('\u{2019}', "'").to_lowercase()
    }

    pub(crate) fn asks_captcha(&self) -> bool {
        self.error_screen.as_ref().is_some_and(|screen| screen.player_captcha_view_model.is_some())
    }
}
