//! The requests: kinds drawn from a mix, and the sessions they use.

use crate::Load;
use bytes::Bytes;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    User,
    Refresh,
    RefreshOnce,
    Password,
    WrongPassword,
    UnknownEmail,
    Signup,
    Otp,
    Logout,
    Health,
    Settings,
    Jwks,
}

/// A request and its expected status.
pub struct Call {
    pub kind: Kind,
    pub path: &'static str,
    pub bearer: Option<Arc<str>>,
    /// A request with a body is a POST.
    pub body: Option<String>,
    pub expect: u16,
    session: Option<Session>,
}

#[derive(Clone)]
struct Session {
    email: Arc<str>,
    access: Arc<str>,
    refresh: Arc<str>,
}

pub struct Work {
    mix: Vec<(Kind, u32)>,
    password: String,
    run: u64,
    seed: Vec<Session>,
    /// Sessions used by refreshes and logouts; reads use the lines after them.
    owned: Mutex<VecDeque<Session>>,
    readable: usize,
    /// Cumulative Zipf weights over the sessions used by reads.
    zipf: Vec<f64>,
    serial: AtomicU64,
}

impl Work {
    /// `owned`: the sessions (lines of the seed) that this load rotates, in order of use.
    pub fn new(o: &Load, mix: &[(Kind, u32)], owned: impl IntoIterator<Item = usize>) -> Arc<Work> {
        let text = o.seed.as_ref().map(|path| std::fs::read_to_string(path).expect("the seed can be read"));
        let seed: Vec<_> = text.iter().flat_map(|text| text.lines()).map(Session::parse).collect();
        let owned: Vec<_> = owned.into_iter().collect();
        let readable = owned.iter().max().map_or(0, |last| last + 1);
        let weights = (readable..seed.len()).scan(0.0, |sum, line| {
            *sum += 1.0 / (line - readable + 1) as f64;
            Some(*sum)
        });
        Arc::new(Work {
            mix: mix.to_vec(),
            password: o.password.clone(),
            run: o.run,
            zipf: weights.collect(),
            readable,
            owned: Mutex::new(owned.iter().map(|&line| seed[line].clone()).collect()),
            seed,
            serial: AtomicU64::new(0),
        })
    }

    /// Returns the next request. The n-th one of a run does not depend on the caller: both servers get the same.
    pub fn next(&self) -> Call {
        let n = self.serial.fetch_add(1, Relaxed);
        let mut rng = SmallRng::seed_from_u64(self.run << 32 | n);
        let mut draw = rng.random_range(0..self.mix.iter().map(|(_, weight)| weight).sum());
        for &(kind, weight) in &self.mix {
            if draw < weight {
                return self.call(kind, n, &mut rng);
            }
            draw -= weight;
        }
        unreachable!("the draw is below the sum of the weights")
    }

    fn call(&self, kind: Kind, n: u64, rng: &mut SmallRng) -> Call {
        let get = |path| Call { kind, path, bearer: None, body: None, expect: 200, session: None };
        let post = |path, body: serde_json::Value| Call { body: Some(body.to_string()), ..get(path) };
        let login = |email: &str, password: &str, expect| Call {
            expect,
            ..post("/token?grant_type=password", json!({"email": email, "password": password}))
        };
        let any = |rng: &mut SmallRng| &*self.seed[rng.random_range(0..self.seed.len())].email;
        let in_turn = || &*self.seed[(self.run * 997 + n) as usize % self.seed.len()].email;
        let fresh = |who| format!("{who}-{}-{n}@bench.test", self.run);
        match kind {
            Kind::User => Call { bearer: Some(self.popular(rng).access.clone()), ..get("/user") },
            Kind::Refresh | Kind::RefreshOnce => {
                let session = self.take();
                let body = json!({"refresh_token": &*session.refresh});
                Call { session: Some(session), ..post("/token?grant_type=refresh_token", body) }
            }
            Kind::Password => login(any(rng), &self.password, 200),
            Kind::WrongPassword => login(any(rng), "not the password", 400),
            Kind::UnknownEmail => login(&fresh("nobody"), &self.password, 400),
            Kind::Signup => post("/signup", json!({"email": fresh("new"), "password": self.password})),
            Kind::Otp => post("/otp", json!({"email": in_turn()})),
            Kind::Logout => {
                let session = self.take();
                Call { bearer: Some(session.access), expect: 204, ..post("/logout", json!({})) }
            }
            Kind::Health => get("/health"),
            Kind::Settings => get("/settings"),
            Kind::Jwks => get("/.well-known/jwks.json"),
        }
    }

    /// Checks a response; returns the kind of error. A rotated session is queued for reuse.
    pub fn check(&self, call: Call, answer: Result<(u16, Bytes), &str>) -> Option<String> {
        let wrong = match &answer {
            Ok((status, _)) if *status == call.expect => None,
            Ok((status, _)) => Some(format!("{:?} {status}", call.kind)),
            Err(reason) => Some(format!("{:?} {reason}", call.kind)),
        };
        if let (Kind::Refresh, Some(mut session)) = (call.kind, call.session) {
            #[derive(Deserialize)]
            struct Tokens {
                refresh_token: String,
            }
            let tokens = answer.ok().and_then(|(_, body)| serde_json::from_slice::<Tokens>(&body).ok());
            if let Some(tokens) = tokens {
                session.refresh = tokens.refresh_token.into();
            }
            self.owned.lock().unwrap().push_back(session);
        }
        wrong
    }

    fn take(&self) -> Session {
        let session = self.owned.lock().unwrap().pop_front();
        session.expect("logouts leave some sessions")
    }

    fn popular(&self, rng: &mut SmallRng) -> &Session {
        let sum = self.zipf.last().expect("a seed with sessions to read");
        let draw = rng.random_range(0.0..*sum);
        &self.seed[self.readable + self.zipf.partition_point(|weight| *weight <= draw)]
    }
}

impl Session {
    fn parse(line: &str) -> Session {
        let mut fields = line.split('\t').map(Arc::from);
        let mut field = || fields.next().expect("three fields to a seed line");
        Session { email: field(), access: field(), refresh: field() }
    }
}

/// Maps `n` to a number in [0, 1).
pub fn unit(n: u64) -> f64 {
    SmallRng::seed_from_u64(n).random()
}

pub fn chance(n: u64, p: f64) -> bool {
    unit(!n) < p
}
