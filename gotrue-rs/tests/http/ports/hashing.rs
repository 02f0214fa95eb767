//! Password hashes: every form, hostile ones, and a queue that refuses instead of growing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gotrue_rs::ports::hashing::{
    HashingError, HashingPool, PasswordVerdict, is_current, malformed_reason, unusable_hash,
};
use gotrue_rules::domain::policy::{Argon2Cost, PasswordHash};
use platform::entropy::Entropy;
use proptest::prelude::*;

const CHEAP: PasswordHash = PasswordHash::Bcrypt { cost: 4 };
const PASSWORD: &str = "correct horse";

/// Hashes of "correct horse" that other tools made.
const IMPORTED: [&str; 6] = [
    "$2a$04$g.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT6",
    "$2b$05$TNSS6blkQ4QZqsVLgCCIJu5hEISnADg1ZvcI8fS4qulu4CtiZytje",
    "$2y$05$TNSS6blkQ4QZqsVLgCCIJu5hEISnADg1ZvcI8fS4qulu4CtiZytje",
    "$argon2id$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$AdpiL9s9YPVviIAJwcFkl1KJUsDwTsulqNgANEM/W9g",
    "$argon2i$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$wNkHGhVNoQzkYWepcw4cTtSuLSPEpINkEmhCeEEWiqI",
    "$fbscrypt$v=1,n=14,r=8,p=1,ss=Qnc9PQ==,sk=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==\
     $ZmlyZWJhc2Ugc2FsdA==$5hCufo3YSrwiHSfqmL4gtTtJa1fDo6/HLe9lzoY0FosU+QZdtEpsf1BpXSOeGO2VkroSJO8WqhP6ftvtjnCl8w==",
];

fn pool() -> HashingPool {
    HashingPool::start(1, 16).expect("threads start")
}

#[tokio::test]
async fn imported_hashes_match_their_password_and_no_other() {
    let pool = pool();
    for stored in IMPORTED {
        assert_eq!(pool.verify(PASSWORD, stored).await, Ok(PasswordVerdict::Match), "{stored}");
        assert_eq!(pool.verify("wrong horse", stored).await, Ok(PasswordVerdict::NoMatch), "{stored}");
        assert_eq!(pool.verify("", stored).await, Ok(PasswordVerdict::NoMatch), "{stored}");
    }
}

#[tokio::test]
async fn new_hashes_have_gotrues_format_and_match() {
    let (pool, entropy) = (pool(), Entropy::from_seed(1));
    let bcrypt = pool.hash(PASSWORD, CHEAP, &entropy).await.expect("a hash");
    assert!(bcrypt.starts_with("$2a$04$") && bcrypt.len() == 60, "{bcrypt}");
    let argon2 = pool.hash(PASSWORD, PasswordHash::Argon2id(Argon2Cost::default()), &entropy).await.expect("a hash");
    assert!(argon2.starts_with("$argon2id$v=19$m=7168,t=5,p=1$"), "{argon2}");
    for stored in [&bcrypt, &argon2] {
        assert_eq!(pool.verify(PASSWORD, stored).await, Ok(PasswordVerdict::Match));
    }
    assert_ne!(bcrypt, pool.hash(PASSWORD, CHEAP, &entropy).await.expect("a hash"), "each hash has a salt of its own");
    let again = pool.hash(PASSWORD, CHEAP, &Entropy::from_seed(1)).await.expect("a hash");
    assert_eq!(bcrypt, again, "the salt comes from the entropy given");
    assert!(is_current(&bcrypt, CHEAP) && !is_current(&bcrypt, PasswordHash::Argon2id(Argon2Cost::default())));
    assert!(
        is_current(&argon2, PasswordHash::Argon2id(Argon2Cost::default()))
            && !is_current(IMPORTED[3], PasswordHash::Argon2id(Argon2Cost::default()))
    );
}

#[tokio::test]
async fn dummy_hash_looks_valid_and_matches_nothing() {
    let (pool, entropy) = (pool(), Entropy::from_seed(1));
    for how in [CHEAP, PasswordHash::Argon2id(Argon2Cost::default())] {
        let (real, none) = (pool.hash(PASSWORD, how, &entropy).await.expect("a hash"), unusable_hash(how, &entropy));
        let form = |hash: &str| hash.split('$').map(str::len).collect::<Vec<_>>();
        assert_eq!(form(&real), form(&none), "{none}");
        assert!(is_current(&none, how), "{none}");
        assert_ne!(none, unusable_hash(how, &entropy));
        for guess in [PASSWORD, "", &none] {
            assert_eq!(pool.verify(guess, &none).await, Ok(PasswordVerdict::NoMatch), "{none}");
        }
    }
}

#[tokio::test]
async fn passwords_are_limited_to_72_bytes() {
    let (pool, entropy) = (pool(), Entropy::from_seed(1));
    for how in [CHEAP, PasswordHash::Argon2id(Argon2Cost::default())] {
        let longest = "ä".repeat(36);
        let stored = pool.hash(&longest, how, &entropy).await.expect("a hash");
        assert_eq!(pool.verify(&longest, &stored).await, Ok(PasswordVerdict::Match));
        let longer = format!("{longest}!");
        assert_eq!(pool.hash(&longer, how, &entropy).await, Err(HashingError::TooLong(73)));
    }
}

#[tokio::test]
async fn unsupported_hash_is_classified() {
    let pool = pool();
    let argon2 = IMPORTED[3];
    for stored in [
        "$argon2d$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$Xfo0TxLu+PBVFDJ4L0DxxJLSoOQ4CapD68ypdjkgwt4".to_owned(),
        argon2.replace("p=1$", "p=1,keyid=abc$"),
        argon2.replace("v=19", "v=16"),
        argon2.replace("m=4096", "m=1048577"),
        argon2.replace("t=2", "t=21"),
        argon2.replace("p=1", "p=17"),
        argon2.replace("t=2", "t=0"),
        argon2[..52].to_owned(),
        IMPORTED[5].replace("n=14", "n=30"),
        IMPORTED[5].replace("n=14", "n=4294967295"),
        // Days of work.
        IMPORTED[0].replace("$04$", "$31$"),
        "$2a$04$ä.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT".to_owned(),
        IMPORTED[5].replace("v=1,", "v=2,"),
        "$fbscrypt$".to_owned(),
    ] {
        let verdict = pool.verify(PASSWORD, &stored).await;
        assert!(matches!(verdict, Ok(PasswordVerdict::Unusable(_))), "{stored}: {verdict:?}");
    }
    for stored in ["correct horse", "", &IMPORTED[0][..40], &IMPORTED[0].replace("$04$", "$32$")] {
        let verdict = pool.verify(PASSWORD, stored).await;
        assert!(matches!(verdict, Ok(PasswordVerdict::Unreadable(_))), "{stored}: {verdict:?}");
    }
}

/// Rows of the reference's own parser: what it stores, although some of it is never compared.
#[test]
fn format_of_uncompared_hash_is_recognized() {
    let (bcrypt, argon2, firebase) = (IMPORTED[0], IMPORTED[3], IMPORTED[5]);
    let without_keys = firebase.split(",ss=").next().unwrap_or_default();
    for stored in [
        bcrypt.to_owned(),
        bcrypt[..59].to_owned(),
        format!("{bcrypt}x"),
        bcrypt.replace("$04$", "$31$"),
        bcrypt.replace("$04$", "$+5$"),
        bcrypt.replace("$2a$", "$2z$"),
        bcrypt.replace("$2a$", "$2$"),
        bcrypt.replace("$2a$", "$1a$"),
        argon2.to_owned(),
        argon2[..argon2.len() - 1].to_owned(),
        argon2[..argon2.len() - 40].to_owned(),
        argon2.replace("YmFzYWx0IHNhbHQgMTIzNA", "YQ"),
        argon2.replace("YmFzYWx0IHNhbHQgMTIzNA", "YmFzYWx0IHNhbHQgMTIzNB"),
        argon2.replace("m=4096", "m=0"),
        argon2.replace("t=2", "t=0"),
        argon2.replace("p=1", "p=0"),
        firebase.replace("n=14", "n=4294967295"),
        firebase.replace("p=1,", "p=255,"),
        format!("{without_keys}$YQ==$YQ=="),
    ] {
        assert_eq!(malformed_reason(&stored), None, "{stored}");
    }
    for stored in [
        String::new(),
        "x".repeat(60),
        bcrypt[..58].to_owned(),
        bcrypt.replace("$04$", "$03$"),
        bcrypt.replace("$04$", "$32$"),
        bcrypt.replace("$2a$", "$3a$"),
        argon2[..argon2.len() - 2].to_owned(),
        argon2[..argon2.len() - 43].to_owned(),
        format!("{argon2}="),
        format!("{argon2}$x"),
        argon2.replace("YmFzYWx0IHNhbHQgMTIzNA", ""),
        argon2.replace("m=4096", "m=+4096"),
        argon2.replace("m=4096", "m=1048577"),
        argon2.replace("v=19", "v=16"),
        argon2.replace("p=1", "p=1,data=a"),
        firebase.replace("n=14", "n=0"),
        firebase.replace("n=14", "n=4294967296"),
        firebase.replace("p=1,", "p=256,"),
        "$fbscrypt".to_owned(),
    ] {
        assert!(malformed_reason(&stored).is_some(), "{stored}");
    }
}

#[tokio::test]
async fn a_bcrypt_hash_matches_by_its_first_sixty_characters() {
    let pool = pool();
    assert_eq!(pool.verify(PASSWORD, &format!("{}x", IMPORTED[0])).await, Ok(PasswordVerdict::Match));
    assert_eq!(pool.verify(PASSWORD, &IMPORTED[0].replace("$2a$", "$2z$")).await, Ok(PasswordVerdict::Match));
    assert_eq!(pool.verify(PASSWORD, &IMPORTED[0][..59]).await, Ok(PasswordVerdict::NoMatch));
}

#[tokio::test]
async fn a_salt_with_its_unused_bits_filled_is_the_same_salt() {
    let verdict = pool().verify(PASSWORD, &IMPORTED[0].replace("MK.p", "MK/p")).await;
    assert_eq!(verdict, Ok(PasswordVerdict::Match));
}

#[tokio::test]
async fn full_queue_refuses_with_retry_after() {
    let pool = Arc::new(HashingPool::start(1, 2).expect("threads start"));
    let slow = PasswordHash::Bcrypt { cost: 8 };
    let entropy = Entropy::from_seed(1);
    let mut all = futures::stream::FuturesUnordered::new();
    for _ in 0..12 {
        all.push(pool.hash(PASSWORD, slow, &entropy));
    }
    let (mut done, mut refused) = (0, 0);
    while let Some(outcome) = futures::StreamExt::next(&mut all).await {
        match outcome {
            Ok(_) => done += 1,
            Err(HashingError::Busy { waiting, retry_after }) => {
                assert!(waiting >= 2 && retry_after >= Duration::from_secs(1), "{waiting} {retry_after:?}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!((2..=4).contains(&done) && refused == 12 - done, "{done} done, {refused} refused");
    assert!(pool.hash(PASSWORD, slow, &entropy).await.is_ok(), "afterwards it takes work again");
}

#[tokio::test]
async fn cancelled_caller_cancels_its_hashing() {
    let pool = HashingPool::start(1, 64).expect("threads start");
    let slow = PasswordHash::Bcrypt { cost: 9 };
    let entropy = Entropy::from_seed(1);
    let started = Instant::now();
    pool.hash(PASSWORD, slow, &entropy).await.expect("a hash");
    let one = started.elapsed();
    for _ in 0..50 {
        let gone = tokio::time::timeout(Duration::from_micros(1), pool.hash(PASSWORD, slow, &entropy)).await;
        assert!(gone.is_err());
    }
    let started = Instant::now();
    pool.hash(PASSWORD, slow, &entropy).await.expect("a hash");
    assert!(
        started.elapsed() < one * 20,
        "the work of callers who left was done: {:?} against {one:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn unknown_user_costs_one_hashing() {
    let (pool, entropy) = (pool(), Entropy::from_seed(1));
    for how in [PasswordHash::Bcrypt { cost: 7 }, PasswordHash::Argon2id(Argon2Cost::default())] {
        let stored = pool.hash(PASSWORD, how, &entropy).await.expect("a hash");
        let (mut known, mut unknown) = (Duration::MAX, Duration::MAX);
        for _ in 0..20 {
            let started = Instant::now();
            pool.verify("wrong horse", &stored).await.expect("a hash");
            known = known.min(started.elapsed());
            let started = Instant::now();
            pool.dummy_verify("wrong horse", how).await.expect("a hash");
            unknown = unknown.min(started.elapsed());
        }
        assert!(unknown < known * 3 && known < unknown * 3, "{how:?}: known {known:?}, unknown {unknown:?}");
    }
}

fn verdict(stored: &str) -> Result<PasswordVerdict, HashingError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    runtime.block_on(async { HashingPool::start(1, 1).expect("threads start").verify(PASSWORD, stored).await })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_matches_and_never_panics(stored in "(\\$2[aby]\\$0[45]\\$|\\$argon2id\\$v=19\\$|\\$fbscrypt\\$v=1,|)\\PC{0,80}") {
        let outcome = verdict(&stored);
        prop_assert!(matches!(outcome, Ok(PasswordVerdict::NoMatch | PasswordVerdict::Unusable(_) | PasswordVerdict::Unreadable(_))), "{outcome:?}");
    }

    #[test]
    fn mutated_hash_never_panics(which in 0..IMPORTED.len() - 1, at in 0..90_usize, put in proptest::char::any()) {
        let mut text: Vec<char> = IMPORTED[which].chars().collect();
        let at = at % text.len();
        // Digits of the cost parameters would only make it slow.
        prop_assume!(at > 32 || !put.is_ascii_digit());
        text[at] = put;
        prop_assert!(verdict(&text.into_iter().collect::<String>()).is_ok());
    }
}
