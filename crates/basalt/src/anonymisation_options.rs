//! The options of anonymised copies, common to databases, exports and stored objects.

use anonymisation::{Anonymisation, Pseudonyms};
use anyhow::{Context, bail};
use clap::Args;
use gotrue_rs::ports::hashing::HashingPool;
use gotrue_rules::domain::policy::PasswordHash;
use platform::entropy::Entropy;

/// The password of all users of an anonymised copy, unless another is given.
const KNOWN_PASSWORD: &str = "anonymised-password";
/// The lowest cost of bcrypt: the password is public.
const HASH: PasswordHash = PasswordHash::Bcrypt { cost: 4 };
/// The shortest seed, in characters: shorter ones can be guessed.
const MIN_SEED_LENGTH: usize = 16;

/// Options of anonymised copies.
#[derive(Debug, Args)]
pub(crate) struct AnonymisationArguments {
    /// The seed of the pseudonyms, at least 16 characters, as secret as the data [default: a random one]
    #[arg(long, value_name = "TEXT", env = "BASALT_ANONYMISATION_SEED", hide_env_values = true)]
    pub seed: Option<String>,
    /// The password that all users with a password get
    #[arg(long, value_name = "TEXT", default_value = KNOWN_PASSWORD, conflicts_with = "remove_passwords")]
    pub password: String,
    /// Remove passwords
    #[arg(long)]
    pub remove_passwords: bool,
    /// Keep the values of this key of metadata; addresses and numbers in them are replaced. Can be repeated
    #[arg(long, value_name = "KEY")]
    pub keep: Vec<String>,
}

impl AnonymisationArguments {
    /// Returns whether no option is given on the command line.
    pub(crate) fn are_defaults(&self) -> bool {
        self.password == KNOWN_PASSWORD && !self.remove_passwords && self.keep.is_empty()
    }
}

/// The options, ready for use.
pub(crate) struct PreparedAnonymisation {
    pub anonymisation: Anonymisation,
    /// The seed, if it was made.
    pub new_seed: Option<String>,
}

impl PreparedAnonymisation {
    /// Makes a seed if none is given, and hashes the password.
    pub(crate) async fn prepare(arguments: &AnonymisationArguments) -> anyhow::Result<Self> {
        let entropy = Entropy::from_system();
        if arguments.seed.as_ref().is_some_and(|seed| seed.chars().count() < MIN_SEED_LENGTH) {
            bail!(
                "--seed: at least {MIN_SEED_LENGTH} characters are wanted, because addresses can be guessed with a known seed"
            );
        }
        let new_seed = arguments.seed.is_none().then(|| entropy.base32(32));
        let seed = arguments.seed.clone().or_else(|| new_seed.clone()).unwrap_or_default();
        let pseudonyms = Pseudonyms::new(&seed);
        let password_hash = if arguments.remove_passwords {
            String::new()
        } else {
            let pool = HashingPool::start(1, 1).context("starting a thread")?;
            let salts = Entropy::from_seed(pseudonyms.number("salt", ""));
            pool.hash(&arguments.password, HASH, &salts).await.context("hashing the password")?
        };
        Ok(Self { anonymisation: Anonymisation { pseudonyms, kept: arguments.keep.clone(), password_hash }, new_seed })
    }
}
