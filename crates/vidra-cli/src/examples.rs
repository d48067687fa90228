//! The examples at the end of each `--help`.

use clap::Command;

/// The examples of each command, by its name with those of its parents.
const EXAMPLES: [(&str, &[&str]); 72] = [
    (
        "",
        &[
            "vidra video https://youtu.be/dQw4w9WgXcQ",
            "vidra transcript dQw4w9WgXcQ --format srt > talk.srt",
            "vidra uploads @GoogleDevelopers --json",
            "vidra serve --demo",
        ],
    ),
    (
        "video",
        &[
            "vidra video https://youtu.be/dQw4w9WgXcQ",
            "vidra video dQw4w9WgXcQ --jq .views",
            "vidra video dQw4w9WgXcQ --include details,chapters",
            "vidra video - --ndjson < ids.txt",
        ],
    ),
    (
        "videos",
        &[
            "vidra videos dQw4w9WgXcQ 9bZkp7q19f0",
            "vidra videos --ids-file ids.txt --csv",
            "vidra videos - --jq 'map(.views) | add' < ids.txt",
        ],
    ),
    ("channel", &["vidra channel @GoogleDevelopers", "vidra channel @GoogleDevelopers --jq .id"]),
    (
        "uploads",
        &[
            "vidra uploads @GoogleDevelopers --limit 10",
            "vidra uploads @GoogleDevelopers --since 2026-01-01 --all --fields id,title --csv",
        ],
    ),
    (
        "playlists",
        &[
            "vidra playlists @GoogleDevelopers",
            "vidra playlists @GoogleDevelopers --all --jq '.items[].id'",
        ],
    ),
    (
        "feed",
        &[
            "vidra feed UC_x5XG1OV2P6uZZ5FSM9Ttw",
            "vidra feed PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --jq '.items[].title'",
        ],
    ),
    (
        "playlist",
        &[
            "vidra playlist PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
            "vidra playlist PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --info",
            "vidra playlist PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --limit 20",
        ],
    ),
    (
        "query",
        &[
            "vidra query PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --sort views --to 10",
            "vidra query PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --min-views 1.5M --max-duration 10m",
            "vidra query PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --title trio --since 2026-01-01 --no-shorts",
        ],
    ),
    (
        "search-videos",
        &[
            "vidra search-videos street food --limit 10",
            "vidra search-videos lecture --channel @GoogleDevelopers --order date --since 2026-01-01",
            "vidra search-videos cooking --type channel --json",
        ],
    ),
    (
        "popular",
        &[
            "vidra popular --region DE --limit 10",
            "vidra popular --category 10 --csv --fields id,title",
        ],
    ),
    (
        "comments",
        &[
            "vidra comments dQw4w9WgXcQ --order time --limit 100",
            "vidra comments dQw4w9WgXcQ --search thanks --replies all",
            "vidra comments dQw4w9WgXcQ --all --csv",
        ],
    ),
    ("replies", &["vidra replies UgydxWWoeA7F1OdqypJ4AaABAg"]),
    ("tracks", &["vidra tracks dQw4w9WgXcQ", "vidra tracks dQw4w9WgXcQ --jq '.[].languageCode'"]),
    (
        "transcript",
        &[
            "vidra transcript dQw4w9WgXcQ --lang de,en",
            "vidra transcript dQw4w9WgXcQ --format srt > talk.srt",
            "vidra transcript dQw4w9WgXcQ --timestamps --start 10:00 --max-chars 8k",
            "vidra transcript dQw4w9WgXcQ --captions manual --start 1:00 --end 2:00",
        ],
    ),
    (
        "document",
        &[
            "vidra document dQw4w9WgXcQ",
            "vidra document 'https://youtu.be/dQw4w9WgXcQ?t=43' --end 60",
            "vidra document dQw4w9WgXcQ --captions auto --words --json",
        ],
    ),
    (
        "chunks",
        &[
            "vidra chunks dQw4w9WgXcQ --by seconds --size 60",
            "vidra chunks dQw4w9WgXcQ 9bZkp7q19f0 --size 256 --overlap 32 --ndjson",
            "vidra chunks dQw4w9WgXcQ --by chapters --jq '.chunks[].chapter'",
        ],
    ),
    (
        "transcripts",
        &[
            "vidra transcripts PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --out talks --format srt,txt",
            "vidra transcripts @GoogleDevelopers --out uploads --to 50",
            "vidra transcripts @GoogleDevelopers --out new --since 2026-01-01 --captions manual",
            "vidra transcripts --ids-file ids.txt --out list --format srt --lang de --lang en",
        ],
    ),
    (
        "job",
        &[
            "vidra job start @GoogleDevelopers --name night",
            "vidra job list",
            "vidra job watch 0f8fad5bd9",
        ],
    ),
    (
        "job start",
        &[
            "vidra job start @GoogleDevelopers --since 2026-01-01 --lang en",
            "vidra job start PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf --dry-run",
            "vidra job start --file ids.txt --name list --idempotency-key list-1",
            "vidra job start @GoogleDevelopers --server http://127.0.0.1:3000 --detach",
        ],
    ),
    ("job list", &["vidra job list", "vidra job list --state waiting --json"]),
    (
        "job show",
        &[
            "vidra job show 0f8fad5bd9",
            "vidra job show 0f8fad5bd9 --items --state failed --all --csv",
        ],
    ),
    ("job watch", &["vidra job watch 0f8fad5bd9", "vidra job watch 0f8fad5bd9 --no-wait --ndjson"]),
    ("job pause", &["vidra job pause 0f8fad5bd9"]),
    ("job resume", &["vidra job resume 0f8fad5bd9"]),
    ("job cancel", &["vidra job cancel 0f8fad5bd9"]),
    (
        "job retry",
        &["vidra job retry 0f8fad5bd9", "vidra job retry 0f8fad5bd9 --reason captions_disabled"],
    ),
    (
        "job results",
        &[
            "vidra job results 0f8fad5bd9 --format ndjson > results.ndjson",
            "vidra job results 0f8fad5bd9 --out talks.zip --files srt,txt",
        ],
    ),
    ("job delete", &["vidra job delete 0f8fad5bd9"]),
    (
        "collection",
        &[
            "vidra collection add news @fermata @nighttrains --every 6h",
            "vidra collection show news",
        ],
    ),
    (
        "collection add",
        &[
            "vidra collection add news @fermata @nighttrains 'search:harbour'",
            "vidra collection add talks --file channels.txt --since 2026-01-01 --lang de,en --unit-budget 500",
        ],
    ),
    ("collection list", &["vidra collection list", "vidra collection list --json"]),
    (
        "collection show",
        &[
            "vidra collection show news",
            "vidra collection show news --videos --state failed --all --csv",
        ],
    ),
    ("collection sync", &["vidra collection sync news"]),
    ("collection pause", &["vidra collection pause news"]),
    ("collection resume", &["vidra collection resume news"]),
    ("collection remove", &["vidra collection remove news"]),
    (
        "search",
        &[
            "vidra search 'harbour -winter'",
            "vidra search '\"the night train\" OR tram' --collection news --sort newest",
            "vidra search 'nucl*' --channel @fermata --since 2026-01-01 --all --csv",
        ],
    ),
    (
        "grep",
        &[
            "vidra grep 'the night train' PLsize50",
            "vidra grep harbour @fermata @nighttrains --videos 200 --json",
        ],
    ),
    (
        "trends",
        &[
            "vidra trends harbour --collection news",
            "vidra trends 'harbour OR port' --by year --csv",
        ],
    ),
    ("regions", &["vidra regions --hl de"]),
    ("languages", &["vidra languages --json"]),
    ("categories", &["vidra categories --region DE", "vidra categories --ids 10,20"]),
    ("link", &["vidra link 'https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PL123'"]),
    ("quota", &["vidra quota", "vidra quota --jq '.buckets[0].remaining'"]),
    (
        "serve",
        &[
            "vidra serve --demo",
            "vidra serve --listen :8080 --cache fs:/var/cache/vidra",
            "vidra serve --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --caller-keys-file keys.json",
        ],
    ),
    ("mcp", &["vidra mcp", "vidra mcp --demo"]),
    ("tools", &["vidra tools --format openai"]),
    ("cache", &["vidra cache stats", "vidra cache clear"]),
    ("cache stats", &["vidra cache stats", "vidra cache stats --server http://127.0.0.1:3000"]),
    ("cache clear", &["vidra cache clear", "vidra cache clear --cache fs:/var/cache/vidra"]),
    ("library", &["vidra library stats", "vidra library backup library-2026-11-17.db"]),
    ("library stats", &["vidra library stats", "vidra library stats --json"]),
    ("library check", &["vidra library check", "vidra library check --repair"]),
    ("library backup", &["vidra library backup library-2026-11-17.db"]),
    (
        "library export",
        &["vidra library export library.ndjson", "vidra library export > library.ndjson"],
    ),
    (
        "library copy",
        &["vidra library copy --from sqlite:library.db --to postgres://vidra@db.example/vidra"],
    ),
    ("library import", &["vidra library import library.ndjson"]),
    ("library forget", &["vidra library forget dQw4w9WgXcQ"]),
    ("library reindex", &["vidra library reindex"]),
    ("library vacuum", &["vidra library vacuum"]),
    ("health", &["vidra health", "vidra health --listen :8080"]),
    ("config", &["vidra config path", "vidra config show serve"]),
    ("config path", &["vidra config path"]),
    ("config show", &["vidra config show", "vidra config show serve"]),
    (
        "keys",
        &[
            "vidra keys add alice --caller-keys-file keys.json",
            "vidra keys list --caller-keys-file keys.json",
        ],
    ),
    (
        "keys add",
        &[
            "vidra keys add alice --caller-keys-file keys.json",
            "vidra keys add alice --caller-keys-file keys.json --rate 60/m --units 1k",
        ],
    ),
    ("keys list", &["vidra keys list --caller-keys-file keys.json"]),
    ("keys revoke", &["vidra keys revoke alice --caller-keys-file keys.json"]),
    ("sim", &["vidra sim --listen :3900 --latency-ms 50"]),
    ("completions", &["vidra completions bash > ~/.local/share/bash-completion/completions/vidra"]),
    ("man", &["vidra man --out ~/.local/share/man/man1"]),
];

/// Adds the examples to each command, and `end` to the help of the program itself.
pub(crate) fn with_examples(whole: Command, end: &'static str) -> Command {
    let whole = with_examples_of(whole, "");
    let examples = examples_of("").unwrap_or_default();
    whole.after_long_help(format!("{examples}\n\n{end}"))
}

fn with_examples_of(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_examples_of(below, path.trim_start())
    });
    match examples_of(path) {
        Some(examples) => command.after_long_help(examples),
        None => command,
    }
}

/// The examples of a command.
fn examples_of(path: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(name, _)| *name == path)?;
    Some(format!("Examples:\n  {}", examples.join("\n  ")))
}
