//! Explanations of refusals, and the events of a backend.

mod ended_sessions;
mod events;
mod history;
mod refusals;
mod requests;
mod secrets;
mod store;
mod trace;

use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::Value;

/// Returns the explanation that the response links to.
fn explanation(world: &World, answer: &Answer) -> Value {
    let link = answer.headers.get("x-basalt-explain").expect("the response has a link").to_str().expect("text");
    let id = link.strip_prefix("http://auth.example.com/_dev/explain/").expect("a link to the page");
    let store = world.app.explanations.store().expect("explanations are kept");
    serde_json::from_str(&store.find(id).expect("it is kept")).expect("JSON")
}
