//! Categories, regions and languages.

use vidra::{CategoryQuery, VideoCategory};

use super::{Recorded, bytes_of, fixtures, id, items_of, text};

pub(super) const CATEGORIES: &[&str] =
    &["by-id-chinese.json", "by-region-us.json", "guide-categories-obsolete.json", "two-2022.json"];

pub(super) const I18N: &[&str] = &["languages.json", "regions.json"];

async fn categories(file: &str) -> Option<Vec<VideoCategory>> {
    let body = bytes_of(&fixtures()?, &format!("categories/{file}"));
    let client = Recorded::default().page("videoCategories", body).client();
    Some(client.video_categories(&CategoryQuery::Region("US".to_owned()), None).await.unwrap())
}

#[tokio::test]
async fn every_recorded_category_is_read_completely() {
    // How many there are, and how many of them uploaders can choose.
    let totals = [(2, 2), (32, 15), (11, 0), (2, 2)];
    for (file, (many, assignable)) in CATEGORIES.iter().zip(totals) {
        let Some(categories) = categories(file).await else { return };
        assert_eq!(categories.len(), many, "{file}");
        assert_eq!(categories.iter().filter(|it| it.assignable).count(), assignable, "{file}");
        let raw = items_of(&fixtures().unwrap(), &format!("categories/{file}"));
        for (raw, category) in raw.iter().zip(categories) {
            assert_eq!(category.id, text(raw, "/id"), "{file}");
            assert_eq!(category.title, text(raw, "/snippet/title"), "{file}");
            assert_eq!(id(&category.channel_id), "UCBR8-60-B28hp2BmDPdntcQ", "{file}");
        }
    }
}

#[tokio::test]
async fn titles_are_in_the_requested_language() {
    let Some(chinese) = categories("by-id-chinese.json").await else { return };
    let titles: Vec<(&str, &str)> =
        chinese.iter().map(|category| (category.id.as_str(), category.title.as_str())).collect();
    assert_eq!(titles, [("1", "电影和动画"), ("2", "汽车")]);
}

#[tokio::test]
async fn regions_and_languages() {
    let Some(folder) = fixtures() else { return };
    let client = Recorded::default()
        .page("i18nRegions", bytes_of(&folder, "i18n/regions.json"))
        .page("i18nLanguages", bytes_of(&folder, "i18n/languages.json"))
        .client();
    let regions = client.regions(Some("en_US")).await.unwrap();
    let regions: Vec<_> =
        regions.iter().map(|it| (it.id.as_str(), it.gl.as_str(), it.name.as_str())).collect();
    let expected = [
        ("VE", "VE", "Venezuela"),
        ("VN", "VN", "Vietnam"),
        ("YE", "YE", "Yemen"),
        ("ZW", "ZW", "Zimbabwe"),
    ];
    assert_eq!(regions, expected);
    let languages = client.languages(None).await.unwrap();
    let languages: Vec<_> =
        languages.iter().map(|it| (it.id.as_str(), it.hl.as_str(), it.name.as_str())).collect();
    let expected = [
        ("zh-CN", "zh-CN", "Chinese"),
        ("zh-TW", "zh-TW", "Chinese (Taiwan)"),
        ("zh-HK", "zh-HK", "Chinese (Hong Kong)"),
        ("ja", "ja", "Japanese"),
        ("ko", "ko", "Korean"),
    ];
    assert_eq!(languages, expected);
}
