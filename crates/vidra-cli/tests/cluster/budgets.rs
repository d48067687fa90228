//! One budget of a caller for all machines.

use std::time::Duration;

use crate::machines::Cluster;
use crate::process::{Service, exchange};
use crate::{pause, wait_until};

/// The status of a request for an uncached video, which costs a unit.
fn spend(machine: &Service, key: &str, number: u32) -> u16 {
    let headers = format!("host: {}\r\nx-api-key: {key}\r\n", machine.address);
    exchange(machine.address, "GET", &format!("/api/video/b{number:010}"), &headers, "").0
}

fn usage(machine: &Service, key: &str) -> String {
    let headers = format!("host: {}\r\nx-api-key: {key}\r\n", machine.address);
    exchange(machine.address, "GET", "/api/usage", &headers, "").2
}

#[test]
fn b1_machines_share_the_budget_and_the_usage_of_a_caller() {
    let Some(cluster) = Cluster::new() else { return };
    let keys = cluster.folder(0).join("keys.json");
    let keys = keys.to_str().unwrap();
    let mut add = cluster.command(0, &[]);
    add.args(["keys", "add", "alice", "--units", "30", "--operator", "--caller-keys-file", keys]);
    let added = add.output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let key = String::from_utf8_lossy(&added.stdout).trim().to_owned();
    let settings = [("VIDRA_CALLER_KEYS_FILE", keys), ("VIDRA_CACHE", "off")];
    let mut machines = cluster.start_all(&settings);
    let mut spent = 0;
    for number in 0..90 {
        let status = spend(&machines[number as usize % 3], &key, number);
        assert!([404, 429].contains(&status), "{status}");
        spent += u32::from(status == 404);
        // Slower than the exchange: nobody spends a whole budget in a second.
        pause(Duration::from_millis(60));
    }
    println!("{spent} of 30 units spent by three machines");
    assert_eq!(cluster.bill(), u64::from(spent));
    // Each machine can spend for a second before it knows of the others.
    assert!((30..=48).contains(&spent), "{spent}");
    let expected = format!("\"units\":{spent},");
    for machine in &machines {
        wait_until(Duration::from_secs(5), || usage(machine, &key).contains(&expected));
    }
    // A restart, and a machine that is killed, forget nothing.
    assert_eq!(machines.remove(0).stop().0, Some(0));
    machines.remove(0).kill();
    let again = cluster.start(0, &settings);
    wait_until(Duration::from_secs(5), || usage(&again, &key).contains(&expected));
    assert_eq!(spend(&again, &key, 1_000), 429);
}
