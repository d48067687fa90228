//! Filters of `--jq`.

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, compile, data, unwrap_valr};
use jaq_json::{Val, read, write};

use crate::failure::Failure;

type Data = data::JustLut<Val>;

/// What jq has and the crates have not.
const DEFINITIONS: &str = r#"
def @csv: map(if . == null then "" elif isstring then "\"" + (split("\"") | join("\"\"")) + "\"" else tostring end)
    | join(",");
def @tsv: map(if . == null then "" elif isstring then split("\\") | join("\\\\") | split("\t") | join("\\t")
    | split("\n") | join("\\n") | split("\r") | join("\\r") else tostring end) | join("\t");
"#;

/// A compiled jq filter. It cannot read files: `import` and `include` find no modules.
pub(crate) struct Filter(jaq_core::Filter<Data>);

impl Filter {
    /// Compiles a filter.
    pub(crate) fn new(code: &str) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::usage(format!("--jq: {why}"));
        let own = load::parse(DEFINITIONS, |parser| parser.defs()).unwrap_or_default();
        let definitions =
            jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(own);
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(definitions).load(&arena, File { code, path: () });
        let modules = modules.map_err(|errors| wrong(why_not_parsed(&errors)))?;
        let filter = Compiler::default().with_funs(functions).compile(modules);
        filter.map(Self).map_err(|errors| wrong(why_not_compiled(&errors)))
    }

    /// Applies the filter to a JSON document. Each result is one line: a string as it is, everything else as
    /// JSON.
    pub(crate) fn apply(&self, json: &[u8]) -> Result<String, Failure> {
        let wrong = |why: String| Failure::usage(format!("--jq: {why}"));
        let input = read::parse_single(json).map_err(|error| wrong(error.to_string()))?;
        let context = Ctx::<Data>::new(&self.0.lut, Vars::new([]));
        let mut text = vec![];
        for value in self.0.id.run((context, input)).map(unwrap_valr) {
            match value.map_err(|error| wrong(shortened(&error.to_string())))? {
                Val::TStr(string) => text.extend_from_slice(&string),
                value => {
                    write::write(&mut text, &write::Pp::default(), 0, &value)
                        .map_err(|error| wrong(error.to_string()))?;
                }
            }
            text.push(b'\n');
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The most characters of an error, before and after its middle.
const LONGEST_START: usize = 160;
const LONGEST_END: usize = 40;

/// An error without its middle if it is long: errors repeat their input, which can be a whole document. The end says
/// what the filter tried, such as `with "id"`.
fn shortened(error: &str) -> String {
    let count = error.chars().count();
    if count <= LONGEST_START + LONGEST_END {
        return error.to_owned();
    }
    let start: String = error.chars().take(LONGEST_START).collect();
    let end: String = error.chars().skip(count - LONGEST_END).collect();
    // Without a rest of the input before the words.
    let words = [" with ", " as "].iter().filter_map(|word| end.rfind(word)).max();
    format!("{start}…{}", &end[words.unwrap_or(0)..])
}

fn why_not_parsed(errors: &load::Errors<&str, ()>) -> String {
    let rest = |rest: &str| match rest.trim() {
        "" => "the end of the filter".to_owned(),
        rest => format!("'{rest}'"),
    };
    let Some((_, error)) = errors.first() else { return "the filter cannot be read".to_owned() };
    match error {
        load::Error::Io(_) => "a filter cannot load modules".to_owned(),
        load::Error::Lex(errors) => match errors.first() {
            Some((expected, at)) => format!("expected {} at {}", expected.as_str(), rest(at)),
            None => "the filter cannot be read".to_owned(),
        },
        load::Error::Parse(errors) => match errors.first() {
            Some((expected, at)) => format!("expected {} at {}", expected.as_str(), rest(at)),
            None => "the filter cannot be read".to_owned(),
        },
    }
}

fn why_not_compiled(errors: &compile::Errors<&str, ()>) -> String {
    let first = errors.iter().flat_map(|(_, errors)| errors).next();
    match first {
        Some((name, what)) => format!("there is no {} {name}", what.as_str()),
        None => "the filter cannot be compiled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(filter: &str, json: &str) -> Result<String, String> {
        let applied = Filter::new(filter).and_then(|filter| filter.apply(json.as_bytes()));
        applied.map_err(|failure| match failure {
            Failure::Message(_, message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn users_13_filters_are_real_jq() {
        let videos = r#"[{"id":"a","views":3,"title":"A \"b\""},{"id":"b","views":12}]"#;
        let table = [
            (".[].id", "a\nb\n"),
            (
                ".",
                "[{\"id\":\"a\",\"views\":3,\"title\":\"A \\\"b\\\"\"},{\"id\":\"b\",\"views\":12}]\n",
            ),
            ("map(.views) | add", "15\n"),
            (".[] | select(.views > 5) | .id", "b\n"),
            ("sort_by(-.views)[0] | {id, v: .views}", "{\"id\":\"b\",\"v\":12}\n"),
            (".[] | [.title, .views, null] | @csv", "\"A \"\"b\"\"\",3,\n,12,\n"),
            (".[] | [.title, .views] | @tsv", "A \"b\"\t3\n\t12\n"),
            ("[\"a\\tb\\nc\\\\\"] | @tsv", "a\\tb\\nc\\\\\n"),
            (".[0].title | test(\"b\")", "true\n"),
            (".[] | .title // \"none\"", "A \"b\"\nnone\n"),
            ("empty", ""),
            ("\"2026-03-26T15:42:07Z\" | fromdate", "1774539727\n"),
        ];
        for (filter, lines) in table {
            assert_eq!(applied(filter, videos).as_deref(), Ok(lines), "{filter}");
        }
        assert_eq!(
            applied(".a", "{\"a\":12345678901234567890}").as_deref(),
            Ok("12345678901234567890\n")
        );
    }

    #[test]
    fn a_long_input_is_shortened_in_errors() {
        let videos = vec![r#"{"id":"ä","title":"—"}"#; 500].join(",");
        for (filter, end) in [
            (".id", r#"… with "id""#),
            ("explode", "… as string"),
            ("error", r#""ä","title":"—"}]"#),
            (". - 1", "…"),
        ] {
            let error = applied(filter, &format!("[{videos}]")).unwrap_err();
            assert!(error.chars().count() <= 210 && error.contains(end), "{filter}: {error}");
        }
        assert_eq!(applied(".id", "[1]").unwrap_err(), r#"--jq: cannot index [1] with "id""#);
    }

    #[test]
    fn users_13_a_wrong_filter_says_what_is_wrong() {
        for (filter, part) in [
            (".[", "--jq: expected "),
            ("nope", "there is no "),
            (".id", "--jq: cannot index"),
            ("import \"a\" as a; .", "--jq: "),
        ] {
            let error = applied(filter, "[1]").unwrap_err();
            assert!(error.contains(part) && error.starts_with("--jq: "), "{filter}: {error}");
        }
    }
}
