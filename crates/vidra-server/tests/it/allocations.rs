//! What an answer from the cache allocates.

use allocation_counter::measure;
use axum::body::Body;
use axum::http::Request;
use futures_util::FutureExt;
use http_body_util::BodyExt;

use crate::app::TestApp;

/// Allocations, their bytes, and the length of the body of an answer that is there.
fn of_hit(app: &TestApp, path: &str, header: (&str, &str)) -> (u64, u64, usize) {
    let request = Request::get(path).header(header.0, header.1).body(Body::empty()).unwrap();
    let mut length = 0;
    let measured = measure(|| {
        let response = app.app.answer(request).now_or_never().expect("it waits for nobody");
        assert_eq!(response.headers()["x-cache"], "hit");
        let frame = response.into_body().frame().now_or_never().expect("it waits for nobody");
        length = frame.map_or(0, |frame| frame.unwrap().data_ref().map_or(0, |it| it.len()));
    });
    (measured.count_total, measured.bytes_total, length)
}

#[tokio::test]
async fn a_hit_allocates_little_and_nothing_that_grows_with_the_body() {
    let app = TestApp::new();
    let (small, large) = ("/api/videos?ids=fda4eREcaTQ,quirkNoLike", "/api/playlist/PLsize500");
    for header in [("accept", "*/*"), ("accept-encoding", "gzip"), ("if-none-match", "*")] {
        let measured = [small, large].map(|path| async {
            app.get(path).await;
            // What is shared for the first time is counted from then on, once for all.
            of_hit(&app, path, header);
            of_hit(&app, path, header)
        });
        let [small, large] = futures_util::future::join_all(measured).await.try_into().unwrap();
        assert!(small.0 <= 5, "{small:?}");
        assert_eq!((small.0, small.1), (large.0, large.1), "{header:?}");
        assert!(header.0 == "if-none-match" || large.2 > 10 * small.2, "{header:?}");
    }
}
