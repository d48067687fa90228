//! URLs of timed text: signed, and valid for some hours.

use crate::query::Query;
use crate::web::player::PlayerContext;
use crate::web::secret;

const SIGNED: &str = "ip,ipbits,expire,v,ei,caps,opi,xoaf";
const SIGNED_WITH_EXP: &str = "ip,ipbits,expire,v,ei,caps,opi,exp,xoaf";

/// The signed part of a query: all parameters that a caller may not choose.
pub(in crate::web) fn signed(player: &PlayerContext<'_>, video: &str, exp: &str) -> String {
    let ei = secret::event(player.seed, video, player.expire);
    let list = if exp.is_empty() { SIGNED } else { SIGNED_WITH_EXP };
    let exp = if exp.is_empty() { String::new() } else { format!("&exp={exp}") };
    let expire = player.expire;
    let open = format!(
        "v={video}&ei={ei}&caps=asr&opi=112496729{exp}&xoaf=5&xowf=1&hl=en&ip=0.0.0.0&ipbits=0&expire={expire}&sparams={list}"
    );
    let signature = secret::signature(player.seed, &text(&Query::parse(&open), list));
    format!("{open}&signature={signature}&key=yt8")
}

/// Whether a query has a valid signature.
pub(super) fn holds(seed: u64, query: &Query) -> bool {
    let list = query.get("sparams").unwrap_or_default();
    let complete = list == SIGNED_WITH_EXP || (list == SIGNED && query.get("exp").is_none());
    complete && query.get("signature") == Some(&secret::signature(seed, &text(query, list)))
}

fn text(query: &Query, list: &str) -> String {
    let pairs =
        list.split(',').map(|name| format!("{name}={}", query.get(name).unwrap_or_default()));
    pairs.collect::<Vec<_>>().join("\n")
}
