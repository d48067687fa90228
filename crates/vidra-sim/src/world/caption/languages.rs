//! The target languages of the platform's translations.

/// The languages that mobile clients list.
pub(crate) const FEW: &[&str] = &[
    "ar", "zh-Hant", "nl", "en", "fr", "de", "hi", "id", "it", "ja", "ko", "pt", "ru", "es", "th",
    "tr", "uk", "vi",
];

/// The languages that web clients list, and three that occur on tracks only.
#[rustfmt::skip]
pub(crate) const LANGUAGES: &[(&str, &str)] = &[
    ("ab", "Abkhazian"), ("aa", "Afar"), ("af", "Afrikaans"), ("ak", "Akan"), ("sq", "Albanian"),
    ("am", "Amharic"), ("ar", "Arabic"), ("hy", "Armenian"), ("as", "Assamese"), ("ay", "Aymara"),
    ("az", "Azerbaijani"), ("bn", "Bangla"), ("ba", "Bashkir"), ("eu", "Basque"),
    ("be", "Belarusian"), ("bho", "Bhojpuri"), ("bs", "Bosnian"), ("br", "Breton"),
    ("bg", "Bulgarian"), ("my", "Burmese"), ("ca", "Catalan"), ("ceb", "Cebuano"),
    ("zh", "Chinese"), ("zh-Hans", "Chinese (Simplified)"), ("zh-Hant", "Chinese (Traditional)"),
    ("co", "Corsican"), ("hr", "Croatian"), ("cs", "Czech"), ("da", "Danish"), ("dv", "Divehi"),
    ("nl", "Dutch"), ("dz", "Dzongkha"), ("en", "English"), ("en-US", "English (United States)"),
    ("eo", "Esperanto"), ("et", "Estonian"), ("ee", "Ewe"), ("fo", "Faroese"), ("fj", "Fijian"),
    ("fil", "Filipino"), ("fi", "Finnish"), ("fr", "French"), ("gaa", "Ga"), ("gl", "Galician"),
    ("lg", "Ganda"), ("ka", "Georgian"), ("de", "German"), ("el", "Greek"), ("gn", "Guarani"),
    ("gu", "Gujarati"), ("ht", "Haitian Creole"), ("ha", "Hausa"), ("haw", "Hawaiian"),
    ("iw", "Hebrew"), ("hi", "Hindi"), ("hmn", "Hmong"), ("hu", "Hungarian"), ("is", "Icelandic"),
    ("ig", "Igbo"), ("id", "Indonesian"), ("iu", "Inuktitut"), ("ga", "Irish"), ("it", "Italian"),
    ("ja", "Japanese"), ("jv", "Javanese"), ("kl", "Kalaallisut"), ("kn", "Kannada"),
    ("kk", "Kazakh"), ("kha", "Khasi"), ("km", "Khmer"), ("rw", "Kinyarwanda"), ("ko", "Korean"),
    ("kri", "Krio"), ("ku", "Kurdish"), ("ky", "Kyrgyz"), ("lo", "Lao"), ("la", "Latin"),
    ("lv", "Latvian"), ("ln", "Lingala"), ("lt", "Lithuanian"), ("lua", "Luba-Lulua"),
    ("luo", "Luo"), ("lb", "Luxembourgish"), ("mk", "Macedonian"), ("mg", "Malagasy"),
    ("ms", "Malay"), ("ml", "Malayalam"), ("mt", "Maltese"), ("gv", "Manx"), ("mi", "Māori"),
    ("mr", "Marathi"), ("mn", "Mongolian"), ("mfe", "Morisyen"), ("ne", "Nepali"),
    ("new", "Newari"), ("nso", "Northern Sotho"), ("no", "Norwegian"), ("ny", "Nyanja"),
    ("oc", "Occitan"), ("or", "Odia"), ("om", "Oromo"), ("os", "Ossetic"), ("pam", "Pampanga"),
    ("ps", "Pashto"), ("fa", "Persian"), ("pl", "Polish"), ("pt", "Portuguese"),
    ("pt-BR", "Portuguese (Brazil)"), ("pt-PT", "Portuguese (Portugal)"), ("pa", "Punjabi"),
    ("qu", "Quechua"), ("ro", "Romanian"), ("rn", "Rundi"), ("ru", "Russian"), ("sm", "Samoan"),
    ("sg", "Sango"), ("sa", "Sanskrit"), ("gd", "Scottish Gaelic"), ("sr", "Serbian"),
    ("crs", "Seselwa Creole French"), ("sn", "Shona"), ("sd", "Sindhi"), ("si", "Sinhala"),
    ("sk", "Slovak"), ("sl", "Slovenian"), ("so", "Somali"), ("st", "Southern Sotho"),
    ("es", "Spanish"), ("es-419", "Spanish (Latin America)"), ("su", "Sundanese"),
    ("sw", "Swahili"), ("ss", "Swati"), ("sv", "Swedish"), ("tg", "Tajik"), ("ta", "Tamil"),
    ("tt", "Tatar"), ("te", "Telugu"), ("th", "Thai"), ("bo", "Tibetan"), ("ti", "Tigrinya"),
    ("to", "Tongan"), ("ts", "Tsonga"), ("tn", "Tswana"), ("tum", "Tumbuka"), ("tr", "Turkish"),
    ("tk", "Turkmen"), ("uk", "Ukrainian"), ("ur", "Urdu"), ("ug", "Uyghur"), ("uz", "Uzbek"),
    ("ve", "Venda"), ("vi", "Vietnamese"), ("war", "Waray"), ("cy", "Welsh"),
    ("fy", "Western Frisian"), ("wo", "Wolof"), ("xh", "Xhosa"), ("yi", "Yiddish"),
    ("yo", "Yoruba"), ("zu", "Zulu"),
];
