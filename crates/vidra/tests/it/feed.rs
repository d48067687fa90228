//! Feeds that were not recorded: damaged, hostile and unusual ones.

use vidra::feed::{FeedError, FeedId, parse};
use vidra::{Feed, FeedItem};

const CHANNEL: &str = "UCLA_DiR1FfKNvjuUpBHmylQ";

fn read(body: &str) -> Feed {
    parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// The only item of a feed with this entry.
fn item(entry: &str) -> FeedItem {
    let feed = read(&format!("<feed><entry><id>yt:video:dQw4w9WgXcQ</id>{entry}</entry></feed>"));
    let [item] = feed.items.try_into().expect("one item");
    item
}

fn malformed(body: &str) -> String {
    match parse(body.as_bytes()) {
        Err(FeedError::Malformed(why)) => why,
        other => panic!("{other:?}: {}", &body[..body.len().min(200)]),
    }
}

#[test]
fn other_bodies_are_not_feeds() {
    let bodies = [
        "",
        " \n",
        "Not found",
        r#"{"error": {}}"#,
        "<!DOCTYPE html><html><body>404</body></html>",
        "<html><body>404</body></html>",
        "<rss version=\"2.0\"></rss>",
        "<?xml version=\"1.0\"?>",
        "<",
        "\u{0}\u{1}",
    ];
    for body in bodies {
        assert_eq!(parse(body.as_bytes()), Err(FeedError::NotAFeed), "{body}");
    }
    assert_eq!(FeedError::NotAFeed.to_string(), "the response is not a feed");
}

#[test]
fn damaged_feeds_are_errors() {
    let table = [
        ("<feed>", "it is cut off"),
        ("<feed><entry><id>yt:video:dQw4w9WgXcQ</id></entry>", "it is cut off"),
        ("<feed><!DOCTYPE x [<!ENTITY a \"b\">]></feed>", "it has a DOCTYPE"),
    ];
    for (body, why) in table {
        assert_eq!(malformed(body), why, "{body}");
    }
    for body in ["<feed><a></b></feed>", "<feed><entry", "<feed></wrong>"] {
        malformed(body);
    }
    // Entities of a DOCTYPE before the root are not even read.
    let bomb = r#"<!DOCTYPE feed [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><feed><title>&b;</title></feed>"#;
    assert_eq!(parse(bomb.as_bytes()), Err(FeedError::NotAFeed));
    assert_eq!(read("<feed><title>&xxe;</title></feed>").title, "&xxe;");
}

#[test]
fn feeds_have_limits() {
    let entry = "<entry><yt:videoId>dQw4w9WgXcQ</yt:videoId></entry>";
    assert_eq!(read(&format!("<feed>{}</feed>", entry.repeat(1_000))).items.len(), 1_000);
    let many = format!("<feed>{}</feed>", entry.repeat(1_001));
    assert_eq!(malformed(&many), "it has too many entries");
    let deep = format!("<feed>{}", "<a>".repeat(100_000));
    assert_eq!(malformed(&deep), "it is nested too deeply");
    let wide = format!("<feed><a {}/></feed>", "b=\"c\" ".repeat(100_000));
    assert_eq!(malformed(&wide), "too many attributes");
    let large = format!("<feed><title>{}</title></feed>", "a".repeat(4 << 20));
    assert_eq!(malformed(&large), "larger than 4 MB");
}

#[test]
fn a_feed_is_read_without_its_usual_frame() {
    assert_eq!(read("<feed/>"), Feed::default());
    let plain = "<feed><title>News</title></feed>";
    for before in ["", "\n", "\u{feff}", "\u{feff}\r\n<?xml version=\"1.0\"?>", "<!-- a -->"] {
        assert_eq!(read(&format!("{before}{plain}")).title, "News", "{before:?}");
    }
}

#[test]
fn the_id_of_a_channel_is_found_in_any_spelling() {
    let short = &CHANNEL[2..];
    let feeds = [
        format!("<yt:channelId>{CHANNEL}</yt:channelId>"),
        format!("<yt:channelId> {short}\n</yt:channelId>"),
        format!("<yt:channelId/><id>yt:channel:{CHANNEL}</id>"),
        format!("<id>yt:channel:{short}</id>"),
        format!(r#"<id>yt:channel:</id><link href="https://www.youtube.com/channel/{CHANNEL}"/>"#),
        format!("<author><uri>http://www.youtube.com/channel/{CHANNEL}</uri></author>"),
        format!(
            r#"<link rel="self" href="https://www.youtube.com/xml/feeds/videos.xml?channel_id={CHANNEL}"/>"#
        ),
        format!(
            r#"<link href="https://www.youtube.com/feeds/videos.xml?a=b&amp;channel_id={CHANNEL}&amp;c=d"/>"#
        ),
    ];
    for members in feeds {
        let feed = read(&format!("<feed>{members}</feed>"));
        let is_channel = matches!(&feed.id, Some(FeedId::Channel(id)) if id.as_str() == CHANNEL);
        assert!(is_channel, "{members}: {:?}", feed.id);
    }
    for members in ["", "<yt:channelId/>", "<id>yt:channel:</id>", "<id>yt:channel:x</id>"] {
        assert_eq!(read(&format!("<feed>{members}</feed>")).id, None, "{members}");
    }
}

#[test]
fn texts_are_unescaped_once() {
    let table = [
        ("Q &amp; A", "Q & A"),
        ("&lt;b&gt; &quot;x&quot; &apos;y&apos;", "<b> \"x\" 'y'"),
        ("&#39;&#x1F600;", "'😀"),
        ("&amp;amp;", "&amp;"),
        ("A & B", "A & B"),
        ("&nbsp;", "&nbsp;"),
        ("<![CDATA[<b> & c]]>", "<b> & c"),
        ("a<!-- b -->c", "ac"),
    ];
    for (written, title) in table {
        assert_eq!(item(&format!("<title>{written}</title>")).title, title, "{written}");
    }
    let description =
        "<media:group><media:description>a\r\nb\n\n c &amp; d</media:description></media:group>";
    assert_eq!(item(description).description, "a\nb\n\n c & d");
}

#[test]
fn missing_and_odd_members_are_absent() {
    let bare = serde_json::to_value(item("")).unwrap();
    let expected = serde_json::json!({
        "id": "dQw4w9WgXcQ", "title": "", "channel": "", "channelId": "", "publishedAt": "", "description": "",
    });
    assert_eq!(bare, expected);
    let odd = item(
        r#"<published>soon</published><updated/><yt:channelId>none</yt:channelId><media:group><media:community>
        <media:starRating average="5.00"/><media:statistics views="many"/></media:community></media:group>"#,
    );
    assert_eq!((odd.views, odd.likes, odd.updated_at, odd.channel_id), (None, None, None, None));
    // An entry without a video is omitted, and the next one is read from the start.
    let feed = read(
        r#"<feed><entry><title>A channel</title></entry><entry><id>yt:video:x</id></entry>
        <entry><link href="https://www.youtube.com/shorts/dQw4w9WgXcQ"/></entry></feed>"#,
    );
    let [item] = feed.items.try_into().expect("one item");
    assert_eq!(
        (item.id.as_str(), item.title.as_str(), item.is_short),
        ("dQw4w9WgXcQ", "", Some(true))
    );
}
