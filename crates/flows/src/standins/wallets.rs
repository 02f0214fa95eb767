//! Wallets of users, whose keys are derived from a name.

use aws_lc_rs::digest::{SHA256, digest};
use provider_simulator::Wallet;
use serde_json::Value;

use super::arguments::Arguments;
use crate::FlowError;

/// Answers a call; `None` if the name is none of a wallet.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    let sign: fn(&[u8], &Value) -> Option<String> = match name {
        "ethereum_sign" => sign_ethereum,
        "solana_sign" => |seed, arguments| Some(Wallet::solana_of(seed)?.sign(arguments["message"].as_str()?)),
        "solana_ledger_sign" => |seed, arguments| {
            Wallet::solana_of(seed)?.sign_envelope(arguments["domain"].as_str()?, arguments["message"].as_str()?)
        },
        _ => return Ok(None),
    };
    let seed = arguments["seed"].as_str().map(|name| digest(&SHA256, name.as_bytes()));
    let signed = seed.and_then(|seed| sign(seed.as_ref(), arguments));
    let wanted = || Arguments::new(name, arguments).wanted("{\"seed\": name, \"message\": text}");
    signed.map(|text| Some(text.into())).ok_or_else(wanted)
}

/// Signs with the `v` of an even point that the call names.
fn sign_ethereum(seed: &[u8], arguments: &Value) -> Option<String> {
    let even = u8::try_from(arguments["v"].as_u64().unwrap_or(27)).ok()?;
    Some(Wallet::ethereum_of(seed)?.sign_with(arguments["message"].as_str()?, even))
}
