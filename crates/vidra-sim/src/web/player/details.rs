//! `videoDetails`, and the `playabilityStatus` of a playable video.

use crate::quirk::Refusal;
use crate::web::client::{Client, Family};
use crate::world::video::Video;
use serde_json::{Value, json};

const TRACKING: &str = "CAUQ6ewBIhMIu_je89CokgMV0kN6BR36vC0t";

/// `videoDetails` of a video. Numbers are strings.
pub(super) fn video_details(video: &Video, refusal: Option<Refusal>) -> Value {
    let live = matches!(refusal, Some(Refusal::Live | Refusal::LiveCaptions));
    let waiting = refusal == Some(Refusal::Upcoming);
    let seconds = if live || waiting { 0 } else { video.seconds };
    let sizes = [(168, 94), (336, 188), (1280, 720)];
    let thumbnails = sizes.map(|(width, height)| {
        let url = format!("https://i.ytimg.com/vi/{}/hqdefault.jpg?w={width}", video.id);
        json!({"url": url, "width": width, "height": height})
    });
    let mut details = json!({
        "videoId": video.id,
        "title": video.title,
        "lengthSeconds": seconds.to_string(),
        "channelId": video.channel.id,
        "isOwnerViewing": false,
        "shortDescription": video.description,
        "isCrawlable": true,
        "thumbnail": {"thumbnails": thumbnails},
        "allowRatings": true,
        "viewCount": video.views.to_string(),
        "author": video.channel.title,
        "isPrivate": false,
        "isUnpluggedCorpus": false,
        "isLiveContent": live || waiting,
    });
    if !video.tags.is_empty() {
        details["keywords"] = json!(video.tags);
    }
    if waiting {
        details["isUpcoming"] = true.into();
    }
    if live {
        details["isLive"] = true.into();
        details["isLiveDvrEnabled"] = true.into();
        details["isLowLatencyLiveStream"] = true.into();
        details["liveChunkReadahead"] = 2.into();
        details["latencyClass"] = "MDE_STREAM_OPTIMIZATIONS_RENDERER_LATENCY_LOW".into();
        details["isTvfilmVideo"] = false.into();
    }
    details
}

/// The `playabilityStatus` of a playable video.
pub(super) fn playable(client: &Client) -> Value {
    let mut status = json!({
        "status": "OK",
        "playableInEmbed": true,
        "contextParams": "Q0FFU0FnZ0M=",
        "miniplayer": {"miniplayerRenderer": {"playbackMode": "PLAYBACK_MODE_ALLOW"}},
    });
    if client.family == Family::Android {
        status["offlineability"] = json!({"buttonRenderer": {
            "serviceEndpoint": {
                "clickTrackingParams": TRACKING,
                "ypcGetOfflineUpsellEndpoint": {"params": "CiXqqN25AR8KC0Y3NWs0T2M2"},
            },
            "trackingParams": TRACKING,
        }});
        status["pictureInPicture"] = json!({"pictureInPictureRenderer": {
            "pictureInPictureStyleConfig": {"enableScrubbing": true, "enableNavigationControls": true},
            "pictureInPicturePlayability": "PICTURE_IN_PICTURE_PLAYABILITY_SHOPPING",
        }});
        status["audioOnlyPlayability"] = json!({"audioOnlyPlayabilityRenderer": {
            "trackingParams": TRACKING,
            "audioOnlyAvailability": "FEATURE_AVAILABILITY_PREMIUM",
        }});
    }
    status
}
