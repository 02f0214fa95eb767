//! TLS from files, and their reload.

use std::path::Path;
use std::time::Duration;

use reqwest::{Certificate, Client};
use rustix::process::Signal;

use super::support::{Basalt, TempFolder, eventually, run};

/// Writes a new self-signed certificate for 127.0.0.1 and its key; returns the certificate.
fn write_certificate(folder: &Path, key_name: &str) -> Certificate {
    let (certificate, key) = (folder.join("certificate.pem.new"), folder.join(format!("{key_name}.new")));
    let generated = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let pem = generated.cert.pem();
    std::fs::write(&certificate, &pem).expect("written");
    std::fs::write(&key, generated.signing_key.serialize_pem()).expect("written");
    std::fs::rename(&key, folder.join(key_name)).expect("a key");
    std::fs::rename(&certificate, folder.join("certificate.pem")).expect("a certificate");
    Certificate::from_pem(pem.as_bytes()).expect("a certificate")
}

/// Returns whether a new connection that trusts only this certificate gets a response.
async fn is_served_with(server: &Basalt, certificate: &Certificate) -> bool {
    let client = Client::builder().no_proxy().tls_certs_only([certificate.clone()]).build().expect("a client");
    let response = client.get(server.url("/auth/v1/health")).send().await;
    response.is_ok_and(|response| response.status() == 200)
}

/// Waits until new connections get this certificate.
async fn wait_for(server: &Basalt, certificate: &Certificate) {
    for _ in 0..100 {
        if is_served_with(server, certificate).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the certificate is not served");
}

fn serve(scratch: &TempFolder) -> Basalt {
    let config = scratch.write("config.toml", "[basalt.tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n");
    Basalt::serve(&["--ephemeral", "--config", &config])
}

#[tokio::test]
async fn certificate_of_the_cli_settings_is_served() {
    let scratch = TempFolder::new();
    let certificate = write_certificate(&scratch.0, "key.pem");
    let settings = "[api.tls]\nenabled = true\ncert_path = \"certificate.pem\"\nkey_path = \"key.pem\"\n";
    let server = Basalt::serve(&["--ephemeral", "--config", &scratch.write("config.toml", settings)]);
    assert!(server.text("url").starts_with("https://127.0.0.1:"));
    assert!(is_served_with(&server, &certificate).await);
}

#[tokio::test]
async fn changed_certificate_is_served_and_unusable_one_is_not() {
    let scratch = TempFolder::new();
    let first = write_certificate(&scratch.0, "key.pem");
    let server = serve(&scratch);
    assert!(server.text("url").starts_with("https://127.0.0.1:"));
    assert!(is_served_with(&server, &first).await);

    let second = write_certificate(&scratch.0, "key.pem");
    wait_for(&server, &second).await;
    assert!(!is_served_with(&server, &first).await);

    // A certificate with the key of another, then no certificate: the second one stays.
    let third = write_certificate(&scratch.0, "other.pem");
    server.signal(Signal::HUP);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(is_served_with(&server, &second).await && !is_served_with(&server, &third).await);
    scratch.write("certificate.pem", "nothing");
    server.signal(Signal::HUP);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(is_served_with(&server, &second).await);

    let fourth = write_certificate(&scratch.0, "key.pem");
    server.signal(Signal::HUP);
    wait_for(&server, &fourth).await;
}

#[tokio::test]
async fn connection_speaks_http_1_1_and_survives_a_reload() {
    let scratch = TempFolder::new();
    let certificate = write_certificate(&scratch.0, "key.pem");
    let server = serve(&scratch);
    let client = Client::builder().no_proxy().tls_certs_only([certificate]).build().expect("a client");
    let get = || client.get(server.url("/auth/v1/health")).send();
    assert_eq!(get().await.expect("a response").version(), reqwest::Version::HTTP_11);
    let second = write_certificate(&scratch.0, "key.pem");
    server.signal(Signal::HUP);
    wait_for(&server, &second).await;
    // The client trusts only the first certificate, so this is its open connection.
    assert_eq!(get().await.expect("a response").status(), 200);
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

#[test]
fn plain_http_gets_no_response_and_other_connections_continue() {
    use std::io::{Read, Write};
    let scratch = TempFolder::new();
    write_certificate(&scratch.0, "key.pem");
    let server = serve(&scratch);
    let address = server.text("url").trim_start_matches("https://").to_owned();
    let mut stream = std::net::TcpStream::connect(&address).expect("it listens");
    stream.write_all(b"GET /auth/v1/health HTTP/1.1\r\nHost: a\r\n\r\n").expect("the server reads");
    let mut response = Vec::new();
    drop(stream.read_to_end(&mut response));
    assert!(!response.starts_with(b"HTTP/"), "{response:?}");
    let url = server.text("url");
    eventually("the server is ready", || run(&["healthcheck", "--url", &url]).status.success());
}

#[test]
fn unusable_files_are_reported() {
    let scratch = TempFolder::new();
    write_certificate(&scratch.0, "key.pem");
    write_certificate(&scratch.0, "other.pem");
    scratch.write("empty.pem", "");
    for (lines, problem) in [
        ("certificate = \"missing.pem\"\nkey = \"other.pem\"", "missing.pem: No such file"),
        ("certificate = \"empty.pem\"\nkey = \"other.pem\"", "empty.pem: has no certificate in PEM format"),
        ("certificate = \"certificate.pem\"\nkey = \"empty.pem\"", "empty.pem: has no private key in PEM format"),
        ("certificate = \"certificate.pem\"\nkey = \"key.pem\"", "key.pem: cannot be used with the certificate"),
        ("certificate = \"certificate.pem\"", "line 2: basalt.tls.certificate needs basalt.tls.key"),
        ("key = \"other.pem\"", "line 2: basalt.tls.key needs basalt.tls.certificate"),
    ] {
        let config = scratch.write("config.toml", &format!("[basalt.tls]\n{lines}\n"));
        let output = run(&["check", "--config", &config]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(problem), "{problem}: {text}");
    }
}
