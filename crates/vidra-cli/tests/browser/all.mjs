// All browser tests, in one process and one browser. Started by main.rs.
import "./events.mjs";
import "./search.mjs";
import "./video.mjs";
import "./transcript.mjs";
import "./playlist.mjs";
import "./batch.mjs";
import "./history.mjs";
import "./trouble.mjs";
import "./collections.mjs";
import "./keys.mjs";
import "./looks.mjs";
import "./loading.mjs";
import "./docs.mjs";
