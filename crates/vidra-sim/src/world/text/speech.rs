//! The sentences that are spoken in videos.

use super::words::{Theme, Words};

/// The sentences of a language: the opening, a reminder, and sentences in any order. `{}` stands for the
/// title of the video.
pub(crate) struct Speech {
    pub(crate) opening: &'static str,
    pub(crate) reminder: &'static str,
    pub(crate) sentences: Words,
}

/// The sentences of a language code; `None` if the language has none. A regional code uses its base
/// language.
pub(crate) fn speech(language: &str) -> Option<Speech> {
    let base = language.split('-').next().unwrap_or(language);
    Some(match (base, language) {
        ("en", _) => {
            speak("Hello and welcome, today it's all about {}.", "So, back to {}.", ENGLISH)
        }
        ("de", _) => speak("Hallo zusammen, heute geht es um {}.", "Also, zurück zu {}.", GERMAN),
        ("fr", _) => speak("Bonjour à tous, aujourd'hui on parle de {}.", "Revenons à {}.", FRENCH),
        ("es", _) => speak("Hola a todos, hoy vamos con {}.", "Volvamos a {}.", SPANISH),
        ("pt", _) => speak("Olá, pessoal, hoje é dia de {}.", "Voltando a {}.", PORTUGUESE),
        ("it", _) => speak("Ciao a tutti, oggi parliamo di {}.", "Torniamo a {}.", ITALIAN),
        ("ja", _) => {
            speak("みなさんこんにちは、今日は{}です。", "では{}に戻りましょう。", JAPANESE)
        }
        ("ko", _) => {
            speak("안녕하세요, 오늘은 {} 이야기입니다.", "다시 {} 이야기로 돌아가죠.", KOREAN)
        }
        ("ar", _) => speak("أهلا بكم، موضوع اليوم هو {}.", "نعود إلى {}.", ARABIC),
        ("zh", "zh-Hant" | "zh-TW" | "zh-HK") => {
            speak("大家好，今天我們來看{}。", "我們回到{}。", CHINESE_TRADITIONAL)
        }
        ("zh", _) => speak("大家好，今天我们来看{}。", "我们回到{}。", CHINESE),
        _ => return None,
    })
}

const fn speak(opening: &'static str, reminder: &'static str, sentences: Words) -> Speech {
    Speech { opening, reminder, sentences }
}

/// Whether words are written without spaces between them.
pub(crate) fn runs_together(language: &str) -> bool {
    ["ja", "zh"].iter().any(|code| language.starts_with(code))
}

/// The English sentences about a theme.
pub(crate) const fn about(theme: Theme) -> Words {
    match theme {
        Theme::Music => &[
            "Listen to how the second voice comes in a bar late.",
            "We recorded this with one microphone and no click.",
            "The bridge is in five, so count along if you can.",
            "That chord shouldn't work, and yet it does.",
        ],
        Theme::Cooking => &[
            "Keep the heat low and don't touch it for four minutes.",
            "Salt & pepper now, the rest comes later.",
            "If the dough sticks to your hands, it's exactly right.",
            "My grandmother would've used twice as much butter.",
        ],
        Theme::Trains => &[
            "We leave platform nine with six minutes' delay.",
            "The guard says \"all aboard\" and nobody moves.",
            "This line hasn't seen a passenger train since 1987.",
            "You can hear the points change under us.",
        ],
        Theme::Stars => &[
            "Give your eyes twenty minutes to get used to the dark.",
            "It's the bright one, just left of the roof.",
            "The exposure is 30 seconds at f/2.8.",
            "What you're seeing left its star before we were born.",
        ],
        Theme::Wood => &[
            "Mark the line with a knife, not with a pencil.",
            "The grain turns here, so we plane from the other side.",
            "That gap is mine, and it's staying.",
            "Sharpen first; everything else gets easier.",
        ],
        Theme::Code => &[
            "So if a < b && b < c, this branch can't be taken.",
            "The lock is held while we wait, & that's the bug.",
            "Let's print \"here\" and see if we ever get here.",
            "It works on the second run, which is the worst kind of works.",
        ],
        Theme::Garden => &[
            "Water in the morning, never at noon.",
            "These seedlings don't like to be moved twice.",
            "The slugs got there first, as they do.",
            "A handful of compost is plenty for one pot.",
        ],
        Theme::Cycling => &[
            "The wind's been in our face since kilometre 40.",
            "I've got two spare tubes and one bad idea.",
            "From here it's 12% for as long as you can see.",
            "Tea first, then the puncture.",
        ],
        Theme::Games => &[
            "You can skip this whole room if you jump here.",
            "The manual says \"press any key\", and it means it.",
            "That's the same sprite with another palette.",
            "We're on our last life, so let's not rush.",
        ],
        Theme::Travel => &[
            "The map says there's a path; the map's from 1962.",
            "The ferry doesn't run on Tuesdays, so we walk.",
            "Behind that ridge is the next sheet & the next country.",
            "We've been told the bakery opens at five.",
        ],
    }
}

const ENGLISH: Words = &[
    "I'm going to show you the whole thing from start to finish.",
    "Don't worry if it doesn't work the first time.",
    "Somebody asked me last week why I don't just buy one.",
    "Let me know in the comments what you'd do differently.",
    "That took about twice as long as I'd planned.",
    "And this is the part that everybody gets wrong.",
    "You can see it much better from over here.",
    "I've left the links in the description, as always.",
    "Now, there are people who say \"never do that\".",
    "We'll come back to this in a minute.",
    "It's not perfect, but it's honest.",
    "Thanks to everyone who wrote in after the last one.",
    "If you listen carefully, you can hear it.",
    "So what did we learn? Start small, keep notes & be patient.",
    "Right, let's try that again, a little slower.",
    "That's all there is to it, really.",
];

const GERMAN: Words = &[
    "Ich zeige euch das Ganze von Anfang bis Ende.",
    "Keine Sorge, wenn es beim ersten Mal nicht klappt.",
    "Das hat doppelt so lange gedauert wie geplant.",
    "Und genau hier machen alle denselben Fehler.",
    "Von hier drüben sieht man es viel besser.",
    "Die Links stehen wie immer in der Beschreibung.",
    "Meine Oma hätte gesagt: \"Lass das lieber.\"",
    "Darauf kommen wir gleich noch einmal zurück.",
    "Es ist nicht perfekt, aber es ist ehrlich.",
    "Schreibt mir in die Kommentare, wie ihr's macht.",
];

const FRENCH: Words = &[
    "Je vous montre tout, du début à la fin.",
    "Ce n'est pas grave si ça ne marche pas du premier coup.",
    "Ça a pris deux fois plus de temps que prévu.",
    "C'est ici que tout le monde se trompe.",
    "D'ici, on voit beaucoup mieux.",
    "Les liens sont dans la description, comme d'habitude.",
    "On y revient dans une minute.",
    "Dites-moi dans les commentaires ce que vous en pensez.",
];

const SPANISH: Words = &[
    "Os voy a enseñar todo, de principio a fin.",
    "No pasa nada si no sale a la primera.",
    "Esto llevó el doble de tiempo de lo previsto.",
    "Aquí es donde todo el mundo se equivoca.",
    "¿Se ve mejor desde aquí? Yo creo que sí.",
    "Los enlaces están en la descripción, como siempre.",
    "Volvemos a esto en un minuto.",
    "¡Contadme en los comentarios cómo lo hacéis!",
];

const PORTUGUESE: Words = &[
    "Vou mostrar tudo, do começo ao fim.",
    "Não tem problema se não der certo na primeira vez.",
    "Demorou o dobro do tempo que eu tinha planejado.",
    "É aqui que todo mundo erra.",
    "Daqui dá para ver muito melhor.",
    "Os links estão na descrição, como sempre.",
    "Já voltamos a isso, só um minuto.",
    "Contem nos comentários o que acharam.",
];

const ITALIAN: Words = &[
    "Vi faccio vedere tutto, dall'inizio alla fine.",
    "Non c'è problema se non riesce al primo colpo.",
    "C'è voluto il doppio del tempo, un po' troppo.",
    "È qui che sbagliano tutti.",
    "I link sono nella descrizione, come sempre.",
    "Ci torniamo tra un minuto.",
];

const JAPANESE: Words = &[
    "最初から最後まで全部お見せします。",
    "一回でうまくいかなくても大丈夫です。",
    "思ったより二倍の時間がかかりました。",
    "ここでみんな間違えます。",
    "こちらから見るとよくわかります。",
    "リンクはいつも通り概要欄にあります。",
    "この話はまたあとで戻ります。",
    "コメントで教えてください。",
];

const KOREAN: Words = &[
    "처음부터 끝까지 다 보여 드리겠습니다.",
    "처음에 잘 안 되어도 괜찮아요.",
    "생각보다 두 배나 오래 걸렸습니다.",
    "여기서 다들 실수를 합니다.",
    "이쪽에서 보면 훨씬 잘 보여요.",
    "링크는 늘 그렇듯 설명란에 있습니다.",
    "이 이야기는 잠시 후에 다시 하겠습니다.",
];

const ARABIC: Words = &[
    "سأريكم كل شيء من البداية إلى النهاية.",
    "لا تقلقوا إن لم تنجح من المرة الأولى.",
    "استغرق الأمر ضعف الوقت الذي توقعته.",
    "هنا يخطئ الجميع.",
    "من هنا ترون بشكل أوضح.",
    "الروابط في الوصف كالعادة.",
    "سنعود إلى هذا بعد قليل.",
];

const CHINESE: Words = &[
    "我会从头到尾给大家演示一遍。",
    "第一次不成功也没关系。",
    "花的时间是原计划的两倍。",
    "大家都在这里出错。",
    "链接照例放在简介里。",
    "我们等一下再回来说这个。",
];

const CHINESE_TRADITIONAL: Words = &[
    "我會從頭到尾給大家示範一遍。",
    "第一次不成功也沒關係。",
    "花的時間是原計劃的兩倍。",
    "大家都在這裡出錯。",
    "連結照例放在簡介裡。",
    "我們等一下再回來說這個。",
];
