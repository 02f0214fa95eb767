//! `basalt healthcheck` against running, missing and failing servers.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::support::{Basalt, TempFolder, free_port, run, run_with};

/// Starts a server that answers every path with these statuses, in this order.
fn start_server(statuses: &'static [u16]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for (stream, status) in listener.incoming().flatten().zip(statuses) {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.1 {status} Status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    url
}

#[test]
fn running_server_is_found_by_its_configuration() {
    let scratch = TempFolder::new();
    let port = free_port();
    let config = scratch.write("config.toml", &format!("[api]\nport = {port}\n"));
    let check = || run(&["healthcheck", "--config", &config]);
    assert_eq!(check().status.code(), Some(1), "nothing listens yet");
    let server = Basalt::serve(&["--ephemeral", "--config", &config, "--port", &port.to_string()]);
    let output = check();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    drop(server);
    assert_eq!(check().status.code(), Some(1));
}

#[test]
fn first_served_path_decides() {
    // Rows: the statuses of /readyz, /auth/v1/health and /health; the exit status.
    for (statuses, expected) in [
        (&[200][..], 0),
        (&[503], 1),
        (&[404, 200], 0),
        (&[404, 503], 1),
        (&[404, 404, 200], 0),
        (&[404, 404, 404], 1),
        (&[401, 200], 0),
    ] {
        let output = run(&["healthcheck", "--url", &start_server(statuses)]);
        assert_eq!(output.status.code(), Some(expected), "{statuses:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn text_that_is_no_url_is_refused() {
    for wrong in ["foo", "127.0.0.1:54321", "ftp://127.0.0.1"] {
        let output = run(&["healthcheck", "--url", wrong]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("is no URL of a server"), "{wrong}: {output:?}");
    }
}

#[test]
fn port_of_gotrue_is_read_from_its_variables() {
    let url = start_server(&[404, 404, 200]);
    let port = url.rsplit(':').next().expect("a port");
    assert_eq!(run_with(&["healthcheck"], &[("PORT", port)]).status.code(), Some(0));
}

#[test]
fn silent_server_is_not_ready_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let output = run(&["healthcheck", "--timeout", "1", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no response in time"));
}
