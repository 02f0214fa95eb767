"""POST /token?grant_type=web3: sign-in by a message signed with a wallet (EIP-4361, and its counterpart for Solana)."""

from harness import ethereum, solana
from harness.ethereum import at, message
from harness.registry import scenario

GRANT = "/token?grant_type=web3"


def give(flow, wallet, text, label=None, signature=None, chain=None):
    return flow.post(GRANT, {"chain": chain or wallet.chain, "message": text, "signature": signature or wallet.sign(text)}, label=label)


@scenario("web3")
def an_ethereum_wallet_signs_in(flow):
    wallet = ethereum.Wallet(flow.name)
    session = give(flow, wallet, message(wallet))
    flow.get("/user", token=session["access_token"])
    give(flow, wallet, message(wallet, statement=None, **{"Chain ID": "137"}), "again, on another network, without statement")
    give(flow, wallet, message(wallet), "v as 0 or 1", wallet.sign(message(wallet), v=0))


@scenario("web3")
def a_solana_wallet_signs_in(flow):
    wallet = solana.Wallet(flow.name)
    text = message(wallet)
    session = give(flow, wallet, text)
    flow.get("/user", token=session["access_token"])
    give(flow, wallet, text, "the same message again")
    give(flow, wallet, text, "signature without padding", wallet.sign(text).rstrip("="))
    give(flow, wallet, text, "signature in the URL alphabet", wallet.sign(text).replace("+", "-").replace("/", "_"))
    give(flow, wallet, text, "signed by a Ledger", wallet.ledger_sign(text))


@scenario("web3")
def what_must_be_given(flow):
    wallet = ethereum.Wallet(flow.name)
    text = message(wallet)
    flow.post(GRANT, {}, label="nothing")
    flow.post(GRANT, {"chain": "bitcoin", "message": text, "signature": wallet.sign(text)}, label="unknown chain")
    give(flow, wallet, text[:63], "message too short")
    give(flow, wallet, text + "x" * 20480, "message too long", "0x" + "0" * 130)
    give(flow, wallet, text, "signature too short", "0x1234")
    give(flow, wallet, text, "signature without 0x", wallet.sign(text)[2:])
    give(flow, solana.Wallet(flow.name), text, "Solana signature too short", "abcd")
    give(flow, solana.Wallet(flow.name), text, "Solana signature not base64", "!" * 88)


@scenario("web3")
def the_signature_must_be_the_address_owners(flow):
    ann, bob = ethereum.Wallet(flow.name + "ann"), ethereum.Wallet(flow.name + "bob")
    give(flow, ann, message(ann), "another wallet's", bob.sign(message(ann)))
    give(flow, ann, message(ann) + "\nNonce: 2", "over another text", ann.sign(message(ann)))
    sol = solana.Wallet(flow.name)
    give(flow, sol, message(sol), "another Solana wallet's", solana.Wallet("other").sign(message(sol)))
    give(flow, sol, message(sol), "Ledger envelope for another domain", sol.ledger_sign(message(sol), "wallet.example.com"))


@scenario("web3")
def an_ethereum_message_that_cannot_be_read(flow):
    wallet = ethereum.Wallet(flow.name)
    good = message(wallet)
    for label, text in (
        ("few lines", good.replace("\n", " ")),
        ("another first line", good.replace("wants you to sign in", "would like you to sign in")),
        ("domain with a path", good.replace("shop.example.com wants", "shop.example.com/x wants")),
        ("address too short", good.replace(wallet.address, wallet.address[:-1])),
        ("third line filled", good.replace(wallet.address + "\n", wallet.address + "\nhello")),
        ("URI is a word", message(wallet, URI="shop")),
        ("no URI", message(wallet, URI=None)),
        ("version 2", message(wallet, Version="2")),
        ("network zero", message(wallet, **{"Chain ID": "0"})),
        ("no time of issue", message(wallet, **{"Issued At": None})),
        ("time of issue in words", message(wallet, **{"Issued At": "today"})),
        ("issued after its end", message(wallet, **{"Expiration Time": at(-60)})),
        ("starts after its end", message(wallet, **{"Not Before": at(120), "Expiration Time": at(60)})),
        ("a line without colon", good + "\nhello"),
        ("a resource that is no URL", good + "\nResources:\n- https://shop.example.com/terms\n- terms"),
    ):
        give(flow, wallet, text, label)


@scenario("web3")
def a_message_has_its_time(flow):
    for wallet in (ethereum.Wallet(flow.name), solana.Wallet(flow.name)):
        name = wallet.chain
        give(flow, wallet, message(wallet, **{"Not Before": at(60)}), f"{name}: not yet valid")
        give(flow, wallet, message(wallet, **{"Issued At": at(-120), "Expiration Time": at(-60)}), f"{name}: expired")
        give(flow, wallet, message(wallet, **{"Issued At": at(-120), "Not Before": at(-120), "Expiration Time": at(-60)}), f"{name}: expired, with a start")
        give(flow, wallet, message(wallet, **{"Issued At": at(-601)}), f"{name}: issued too long ago")
        give(flow, wallet, message(wallet, **{"Issued At": at(660)}), f"{name}: issued too far ahead")
        give(flow, wallet, message(wallet, **{"Issued At": at(-590)}), f"{name}: old enough to be just valid")


@scenario("web3")
def a_message_has_its_place(flow):
    for wallet in (ethereum.Wallet(flow.name), solana.Wallet(flow.name)):
        name = wallet.chain
        give(flow, wallet, message(wallet, "evil.example.com"), f"{name}: another site")
        give(flow, wallet, message(wallet, "shop.example.com", URI="http://plain.example.com/"), f"{name}: plain HTTP")
        give(flow, wallet, message(wallet, "evil.example.com", URI="https://shop.example.com/"), f"{name}: domain differs from URI")
        give(flow, wallet, message(wallet, "half.example.com", URI="https://half.example.com/app"), f"{name}: only a path of the domain allowed")
        give(flow, wallet, message(wallet, "localhost:3000", URI="http://localhost:3000/"), f"{name}: localhost by plain HTTP")


@scenario("web3_solana")
def a_chain_that_is_off(flow):
    wallet, sol = ethereum.Wallet(flow.name), solana.Wallet(flow.name)
    give(flow, wallet, message(wallet))
    give(flow, sol, message(sol, **{"Issued At": at(-65)}), "a shorter validity")
    give(flow, sol, message(sol), "the other chain")


@scenario()
def both_chains_off(flow):
    wallet = ethereum.Wallet(flow.name)
    give(flow, wallet, message(wallet))
    flow.post(GRANT, raw="{", label="not even read")
