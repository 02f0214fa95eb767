//! Measures whether response times reveal if an address has an account: `make timing`.
//! The test is slow and needs an otherwise idle machine, so it is ignored by default.
//!
//! Requests for known and unknown addresses follow each other in a random order, each address is used once, and the
//! durations of both kinds are compared by the area under the ROC curve (Mann-Whitney): 0.5 is no difference, 1 is a
//! complete separation. The kind of a request does not depend on the one before: a mail that is delivered after its
//! answer slows down the next request, whichever kind that is.

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value, json};

use super::support::{Basalt, TempFolder};

/// Samples of each kind per endpoint.
const SAMPLES: usize = 400;
/// Maximum deviation of the area from 0.5.
const TOLERANCE: f64 = 0.1;

/// Rate limits and delays are effectively off, so that only the work is measured.
const CONFIG: &str = r#"
[auth.email]
enable_confirmations = true
max_frequency = "1ms"
[auth.rate_limit]
email_sent = 1000000
sign_in_sign_ups = 1000000
token_verifications = 1000000
token_refresh = 1000000
[auth.sms]
enable_confirmations = true
[basalt.rate_limit]
messages = 1000000
wrong_passwords = 1000000
wrong_codes = 1000000
"#;

const PASSWORD: &str = "correct horse battery";

/// An endpoint that must take equally long for both kinds.
struct TimingCase {
    name: &'static str,
    path: &'static str,
    body: fn(&str) -> Value,
    /// Whether the known accounts are unconfirmed.
    is_unconfirmed: bool,
}

const TIMING_CASES: &[TimingCase] = &[
    TimingCase {
        name: "password",
        path: "/token?grant_type=password",
        body: |email| json!({"email": email, "password": "a wrong password"}),
        is_unconfirmed: false,
    },
    TimingCase { name: "recover", path: "/recover", body: |email| json!({"email": email}), is_unconfirmed: false },
    TimingCase {
        name: "recover (waiting)",
        path: "/recover",
        body: |email| json!({"email": email}),
        is_unconfirmed: true,
    },
    TimingCase {
        name: "otp",
        path: "/otp",
        body: |email| json!({"email": email, "create_user": true}),
        is_unconfirmed: false,
    },
    TimingCase { name: "otp (waiting)", path: "/otp", body: |email| json!({"email": email}), is_unconfirmed: true },
    TimingCase { name: "magiclink", path: "/magiclink", body: |email| json!({"email": email}), is_unconfirmed: false },
    TimingCase {
        name: "resend",
        path: "/resend",
        body: |email| json!({"type": "signup", "email": email}),
        is_unconfirmed: true,
    },
    TimingCase {
        name: "resend (confirmed)",
        path: "/resend",
        body: |email| json!({"type": "signup", "email": email}),
        is_unconfirmed: false,
    },
    TimingCase {
        name: "signup",
        path: "/signup",
        body: |email| json!({"email": email, "password": PASSWORD}),
        is_unconfirmed: false,
    },
    TimingCase {
        name: "verify",
        path: "/verify",
        body: |email| json!({"type": "email", "email": email, "token": "123456"}),
        is_unconfirmed: false,
    },
];

/// Returns the area under the ROC curve of two samples, and its standard error.
/// Source: Hanley and `McNeil` 1982.
fn roc_area(known: &[f64], unknown: &[f64]) -> (f64, f64) {
    let wins: f64 = known
        .iter()
        .flat_map(|known| unknown.iter().map(move |unknown| (known, unknown)))
        .map(|(known, unknown)| match known.total_cmp(unknown) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "hundreds of samples")]
    let (count_known, count_unknown) = (known.len() as f64, unknown.len() as f64);
    let area = wins / (count_known * count_unknown);
    let (first, second) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let variance = (area * (1.0 - area)
        + (count_known - 1.0) * (first - area * area)
        + (count_unknown - 1.0) * (second - area * area))
        / (count_known * count_unknown);
    (area, variance.sqrt())
}

fn median(durations: &mut [f64]) -> f64 {
    durations.sort_by(f64::total_cmp);
    durations[durations.len() / 2]
}

/// A pseudo-random generator (xorshift) with a fixed seed.
struct PseudoRandom(u64);

impl PseudoRandom {
    /// Returns a number below `limit`.
    fn next_below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    /// Shuffles by Fisher and Yates.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.next_below(last + 1));
        }
    }
}

struct TimedClient<'a> {
    server: &'a Basalt,
    key: String,
    admin: String,
}

impl TimedClient<'_> {
    async fn post(&self, path: &str, key: &str, body: &Value) -> (u16, f64) {
        let url = self.server.url(&format!("/auth/v1{path}"));
        let request = self.server.client.post(url).header("apikey", key).json(body);
        let started = Instant::now();
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        answer.bytes().await.expect("a body");
        (status, started.elapsed().as_secs_f64() * 1e3)
    }

    async fn create_user(&self, email: &str, waiting: bool) {
        let account = json!({"email": email, "password": PASSWORD, "email_confirm": !waiting});
        assert_eq!(self.post("/admin/users", &self.admin, &account).await.0, 200, "{email}");
    }

    /// Returns the durations for known and for unknown addresses.
    async fn sample(&self, number: usize, claim: &TimingCase) -> (Vec<f64>, Vec<f64>) {
        let address = |kind: &str, sample: usize| format!("{kind}-{number}-{sample}@example.com");
        for sample in 0..SAMPLES {
            self.create_user(&address("known", sample), claim.is_unconfirmed).await;
        }
        let mut order: Vec<_> = (0..SAMPLES).flat_map(|sample| [("known", sample), ("other", sample)]).collect();
        PseudoRandom(0x9e37_79b9_7f4a_7c15 ^ u64::try_from(number).expect("few claims")).shuffle(&mut order);
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        let mut statuses = Vec::new();
        for (kind, sample) in order {
            let (status, duration) = self.post(claim.path, &self.key, &(claim.body)(&address(kind, sample))).await;
            statuses.push(status);
            if kind == "known" { known.push(duration) } else { unknown.push(duration) }
        }
        statuses.dedup();
        assert_eq!(statuses.len(), 1, "{}: the status differs: {statuses:?}", claim.name);
        (known, unknown)
    }
}

#[tokio::test]
#[ignore = "slow, and needs an idle machine: make timing"]
async fn timing_does_not_tell_who_has_an_account() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", CONFIG);
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let measured =
        TimedClient { server: &server, key: server.text("publishable_key"), admin: server.text("secret_key") };
    let (mut table, mut reported) = (String::new(), Vec::new());
    for (number, claim) in TIMING_CASES.iter().enumerate() {
        let (mut known, mut unknown) = measured.sample(number, claim).await;
        let (area, error) = roc_area(&known, &unknown);
        let (low, high) = (area - 1.96 * error, area + 1.96 * error);
        let medians = (median(&mut known), median(&mut unknown));
        let line = format!(
            "{:20} AUC {area:.3} (95 %: {low:.3} to {high:.3}), median {:.2} ms known, {:.2} ms unknown",
            claim.name, medians.0, medians.1
        );
        #[expect(clippy::print_stdout, reason = "the measurements are the result of this test")]
        {
            println!("{line}");
        }
        writeln!(table, "{line}").expect("a text");
        if (area - 0.5).abs() > TOLERANCE {
            reported.push(claim.name);
        }
    }
    assert!(reported.is_empty(), "the duration reveals known addresses: {reported:?}\n{table}");
}
