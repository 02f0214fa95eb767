//! Whether the duration of a request tells if an address has an account: `make timing`. Slow, and only meaningful on a
//! machine that does nothing else; therefore ignored unless it is asked for.
//!
//! Requests for known and for unknown addresses alternate at random, each address is asked for once, and the durations of
//! both kinds are compared by the area under the ROC curve (Mann-Whitney): 0.5 is no difference, 1 tells every time.

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value, json};

use super::support::{Basalt, Scratch};

/// Samples of each kind for each endpoint.
const SAMPLES: usize = 200;
/// How far from 0.5 the area may be.
const TOLERANCE: f64 = 0.1;

/// Limits and gaps out of the way: what is measured is the work.
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

/// One endpoint that is said to take as long for both kinds.
struct Claim {
    name: &'static str,
    path: &'static str,
    body: fn(&str) -> Value,
    /// Whether the known accounts still wait for their confirmation.
    waiting: bool,
}

const CLAIMS: &[Claim] = &[
    Claim {
        name: "password",
        path: "/token?grant_type=password",
        body: |email| json!({"email": email, "password": "a wrong password"}),
        waiting: false,
    },
    Claim { name: "recover", path: "/recover", body: |email| json!({"email": email}), waiting: false },
    Claim { name: "recover (waiting)", path: "/recover", body: |email| json!({"email": email}), waiting: true },
    Claim { name: "otp", path: "/otp", body: |email| json!({"email": email, "create_user": true}), waiting: false },
    Claim { name: "otp (waiting)", path: "/otp", body: |email| json!({"email": email}), waiting: true },
    Claim { name: "magiclink", path: "/magiclink", body: |email| json!({"email": email}), waiting: false },
    Claim { name: "resend", path: "/resend", body: |email| json!({"type": "signup", "email": email}), waiting: true },
    Claim {
        name: "resend (confirmed)",
        path: "/resend",
        body: |email| json!({"type": "signup", "email": email}),
        waiting: false,
    },
    Claim {
        name: "signup",
        path: "/signup",
        body: |email| json!({"email": email, "password": PASSWORD}),
        waiting: false,
    },
    Claim {
        name: "verify",
        path: "/verify",
        body: |email| json!({"type": "email", "email": email, "token": "123456"}),
        waiting: false,
    },
];

/// The area under the ROC curve of two samples, and its standard error (Hanley and `McNeil` 1982).
fn area(known: &[f64], unknown: &[f64]) -> (f64, f64) {
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

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn coin(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 & 1 == 0
    }
}

struct Measured<'a> {
    server: &'a Basalt,
    key: String,
    admin: String,
}

impl Measured<'_> {
    async fn post(&self, path: &str, key: &str, body: &Value) -> (u16, f64) {
        let url = self.server.url(&format!("/auth/v1{path}"));
        let request = self.server.client.post(url).header("apikey", key).json(body);
        let started = Instant::now();
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        answer.bytes().await.expect("a body");
        (status, started.elapsed().as_secs_f64() * 1e3)
    }

    async fn make(&self, email: &str, waiting: bool) {
        let account = json!({"email": email, "password": PASSWORD, "email_confirm": !waiting});
        assert_eq!(self.post("/admin/users", &self.admin, &account).await.0, 200, "{email}");
    }

    /// The durations for known and for unknown addresses.
    async fn sample(&self, number: usize, claim: &Claim) -> (Vec<f64>, Vec<f64>) {
        let address = |kind: &str, sample: usize| format!("{kind}-{number}-{sample}@example.com");
        for sample in 0..SAMPLES {
            self.make(&address("known", sample), claim.waiting).await;
        }
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ u64::try_from(number).expect("few claims"));
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        let mut statuses = Vec::new();
        for sample in 0..SAMPLES {
            let order = if chance.coin() { ["known", "other"] } else { ["other", "known"] };
            for kind in order {
                let (status, duration) = self.post(claim.path, &self.key, &(claim.body)(&address(kind, sample))).await;
                statuses.push(status);
                if kind == "known" { known.push(duration) } else { unknown.push(duration) }
            }
        }
        statuses.dedup();
        assert_eq!(statuses.len(), 1, "{}: the status tells: {statuses:?}", claim.name);
        (known, unknown)
    }
}

#[tokio::test]
#[ignore = "slow, and wants a machine of its own: make timing"]
async fn timing_does_not_tell_who_has_an_account() {
    let scratch = Scratch::new();
    let config = scratch.write("config.toml", CONFIG);
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let measured = Measured { server: &server, key: server.text("publishable_key"), admin: server.text("secret_key") };
    let (mut table, mut told) = (String::new(), Vec::new());
    for (number, claim) in CLAIMS.iter().enumerate() {
        let (mut known, mut unknown) = measured.sample(number, claim).await;
        let (area, error) = area(&known, &unknown);
        let (low, high) = (area - 1.96 * error, area + 1.96 * error);
        let medians = (median(&mut known), median(&mut unknown));
        let line = format!(
            "{:20} AUC {area:.3} (95 %: {low:.3} to {high:.3}), median {:.2} ms known, {:.2} ms unknown",
            claim.name, medians.0, medians.1
        );
        #[expect(clippy::print_stdout, reason = "the figures are what somebody wants who runs this")]
        {
            println!("{line}");
        }
        writeln!(table, "{line}").expect("a text");
        if (area - 0.5).abs() > TOLERANCE {
            told.push(claim.name);
        }
    }
    assert!(told.is_empty(), "the duration tells: {told:?}\n{table}");
}
