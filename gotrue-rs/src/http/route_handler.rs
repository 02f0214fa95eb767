//! Handlers and the guards before them.
//!
//! A handler takes what guards found as parameters. Each parameter brings its guards to the route, so that no route runs
//! a handler without them.

use std::sync::Arc;

use foundation::error::{Error, Result};
use futures::future::{self, BoxFuture};

use super::reply::Reply;
use crate::request_context::{GuardResults, RequestContext};

/// A check before a handler. Its result is stored in the [`RequestContext`].
#[derive(Clone, Copy)]
pub struct Guard {
    /// The name in the journal and in tests of the route table.
    pub name: &'static str,
    /// Distinguishes guards of the same name, of which a route runs one; empty for the usual one.
    pub variant: &'static str,
    /// The check.
    pub run: GuardCheck,
}

/// Fails with the response of the refused request.
pub type GuardCheck = for<'a> fn(&'a mut RequestContext) -> BoxFuture<'a, Result<()>>;

impl Guard {
    /// Builds the usual guard of this name.
    pub const fn new(name: &'static str, run: GuardCheck) -> Self {
        Self { name, variant: "", run }
    }

    /// Builds another guard of the name, which runs in the place of the usual one.
    pub const fn with_variant(name: &'static str, variant: &'static str, run: GuardCheck) -> Self {
        Self { name, variant, run }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Adds guards to those that run before them.
///
/// A guard runs in the place of an earlier one of the same name, which checks the same.
pub fn add_guards(guards: &mut Vec<Guard>, added: &[Guard]) {
    for guard in added {
        match guards.iter_mut().find(|known| known.name == guard.name) {
            Some(known) => *known = *guard,
            None => guards.push(*guard),
        }
    }
}

/// What guards found: a parameter of handlers.
pub trait GuardResult: Send + Sync + Sized + 'static {
    /// The guards that run before the handler, in this order. Those that succeed have stored the result.
    const GUARDS: &'static [Guard];

    /// Finds the result among those of the request.
    fn find(results: &GuardResults) -> Option<&Arc<Self>>;
}

/// A handler: an `async fn` of a [`RequestContext`] and up to three `Arc<R>`, each `R` a [`GuardResult`].
///
/// `P` is the tuple of these results. A handler whose results need different guards of the same name does not compile.
pub trait RouteHandler<P>: Send + Sync + 'static {
    /// The guards of the parameters, in the order of the parameters.
    fn guards() -> Vec<Guard>;

    /// Calls the handler. The guards have run.
    fn call(&self, cx: RequestContext) -> BoxFuture<'static, Result<Reply>>;
}

/// Implements [`RouteHandler`] for functions of these parameters.
macro_rules! impl_route_handler {
    ($($result:ident $value:ident),*) => {
        impl<F, R, $($result),*> RouteHandler<($($result,)*)> for F
        where
            F: Fn(RequestContext, $(Arc<$result>),*) -> R + Send + Sync + 'static,
            R: Future<Output = Result<Reply>> + Send + 'static,
            $($result: GuardResult,)*
        {
            fn guards() -> Vec<Guard> {
                const {
                    assert!(
                        are_compatible(&[$($result::GUARDS),*]),
                        "parameters of a handler need different guards of the same name, of which only one runs"
                    );
                }
                let lists: &[&[Guard]] = &[$($result::GUARDS),*];
                let mut guards = Vec::new();
                for list in lists {
                    add_guards(&mut guards, list);
                }
                guards
            }

            fn call(&self, cx: RequestContext) -> BoxFuture<'static, Result<Reply>> {
                $(
                    let $value = match find_result::<$result>(&cx) {
                        Ok(found) => found,
                        Err(error) => return Box::pin(future::ready(Err(error))),
                    };
                )*
                Box::pin(self(cx, $($value),*))
            }
        }
    };
}

impl_route_handler!();
impl_route_handler!(A a);
impl_route_handler!(A a, B b);
impl_route_handler!(A a, B b, C c);

fn find_result<R: GuardResult>(cx: &RequestContext) -> Result<Arc<R>> {
    // An error only if a guard of `R::GUARDS` succeeds and stores nothing: every route runs the guards of its handler's
    // parameters, and refuses the request unless all succeed.
    R::find(&cx.guard_results).cloned().ok_or_else(|| Error::other("the guards of a parameter found nothing"))
}

/// Whether guards of the same name are the same guard, in all lists.
const fn are_compatible(lists: &[&[Guard]]) -> bool {
    let mut pair = 0;
    while pair < lists.len() * lists.len() {
        if !have_same_variants(lists[pair / lists.len()], lists[pair % lists.len()]) {
            return false;
        }
        pair += 1;
    }
    true
}

const fn have_same_variants(some: &[Guard], others: &[Guard]) -> bool {
    let mut pair = 0;
    while pair < some.len() * others.len() {
        let (one, other) = (&some[pair / others.len()], &others[pair % others.len()]);
        if is_same_text(one.name, other.name) && !is_same_text(one.variant, other.variant) {
            return false;
        }
        pair += 1;
    }
    true
}

/// Compares texts at compile time, where `==` cannot.
const fn is_same_text(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
