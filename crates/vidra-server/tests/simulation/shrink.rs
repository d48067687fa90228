//! Makes a failing world smaller: removes callers and incidents as long as the same invariant breaks.

use crate::plan::Plan;
use crate::world;

/// Prints the smallest plan found that breaks the same invariant, and its last events.
pub(crate) fn print_smallest(plan: &Plan) {
    let report = world::run(plan, false);
    let Some(first) = report.violations.first() else {
        eprintln!("seed {} does not fail when it is run again", plan.seed);
        return;
    };
    let invariant = first.invariant;
    let smallest = shrink(plan.clone(), &|plan| {
        world::run(plan, false).violations.iter().any(|it| it.invariant == invariant)
    });
    let report = world::run(&smallest, false);
    eprintln!("seed {}: the smallest story that breaks \"{invariant}\":", plan.seed);
    eprintln!("{:#?}", smallest.settings);
    for caller in &smallest.callers {
        eprintln!("{caller:?}");
    }
    for incident in &smallest.incidents {
        eprintln!("{incident:?}");
    }
    eprintln!("its last events:");
    for line in &report.last {
        eprintln!("{line}");
    }
    for violation in &report.violations {
        eprintln!("{violation}");
    }
}

/// Removes halves, quarters and so on down to single items, first of callers, then of incidents.
fn shrink(mut plan: Plan, fails: &dyn Fn(&Plan) -> bool) -> Plan {
    loop {
        let size = plan.callers.len() + plan.incidents.len();
        plan = without(plan, fails, |plan| &mut plan.callers);
        plan = without(plan, fails, |plan| &mut plan.incidents);
        if plan.callers.len() + plan.incidents.len() == size {
            return plan;
        }
    }
}

fn without<T>(
    mut plan: Plan,
    fails: &dyn Fn(&Plan) -> bool,
    items: impl Fn(&mut Plan) -> &mut Vec<T>,
) -> Plan {
    let mut chunk = items(&mut plan).len().div_ceil(2);
    while chunk > 0 {
        let mut from = 0;
        while from < items(&mut plan).len() {
            let mut smaller = plan.clone();
            let all = items(&mut smaller);
            let to = (from + chunk).min(all.len());
            all.drain(from..to);
            if fails(&smaller) {
                plan = smaller;
            } else {
                from = to;
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    plan
}
