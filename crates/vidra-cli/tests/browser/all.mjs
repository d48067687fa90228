// All browser tests, in one process and one browser. Started by main.rs.
import "./events.mjs";
import "./search.mjs";
import "./video.mjs";
import "./playlist.mjs";
import "./batch.mjs";
import "./trouble.mjs";
import "./keys.mjs";
import "./looks.mjs";
import "./docs.mjs";
