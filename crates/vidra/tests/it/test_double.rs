//! The example in the README of `vidra-sim`, which cannot compile there: the simulator imports nothing of vidra.

use vidra::{ApiKey, InProcess, Reason, VideoId, Vidra};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

#[tokio::test(start_paused = true)]
async fn my_program_survives_an_outage() -> vidra::Result<()> {
    let platform = Simulator::new();
    let transport = InProcess(platform.clone());
    let vidra = Vidra::builder().key(ApiKey::new("demo-key")).transport(transport).build()?;

    // The world is the same in every run.
    let video = vidra.video(VideoId::parse("quirkNoLike")?).await?;
    assert_eq!((video.likes, vidra.cost().units()), (0, 1));

    // From now on every call fails. The record contains all requests.
    platform.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    let error = vidra.video(VideoId::parse("quirkNoView")?).await.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamFailed);
    assert!(platform.record().calls_to(Endpoint::Videos) > 2, "it was retried");
    Ok(())
}

#[test]
fn l10_the_readme_of_the_simulator_has_this_example() {
    let readme = include_str!("../../../vidra-sim/README.md");
    let (_, rest) = readme.split_once("```rust,ignore\n").expect("the block of the example");
    let (example, _) = rest.split_once("```").expect("its end");
    assert!(include_str!("test_double.rs").contains(example), "they differ");
}
