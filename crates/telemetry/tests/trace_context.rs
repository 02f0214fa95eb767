//! Parsing of trace headers, sampling, and the encodings of OTLP.

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use telemetry::otlp::{OtlpProtocol, build_traces_request};
use telemetry::trace_context::{BAGGAGE, TRACEPARENT, TRACESTATE, TraceContext};
use telemetry::tracer::{AttributeValue, FinishedSpan, Sampler, SpanKind};

const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn headers(parent: &str, state: &str, baggage: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [(TRACEPARENT, parent), (TRACESTATE, state), (BAGGAGE, baggage)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(name, value);
        }
    }
    headers
}

#[test]
fn valid_traceparent_is_parsed_and_formatted() {
    let context = TraceContext::parse(VALID).expect("valid");
    assert_eq!((context.span_id, context.is_sampled), (0x00f0_67aa_0ba9_02b7, true));
    assert_eq!(context.to_string(), VALID);
    assert!(TraceContext::parse(&VALID.replace("00-4b", "cc-4b")).is_some(), "a later version");
    assert!(TraceContext::parse(&format!("{}-more", VALID.replace("00-4b", "cc-4b"))).is_some(), "with more parts");
}

#[test]
fn invalid_traceparent_is_refused() {
    let invalid = [
        String::new(),
        VALID.to_uppercase(),
        VALID.replace("00-4b", "ff-4b"),
        format!("{VALID}-more"),
        format!(" {VALID}"),
        VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
        VALID.replace("00f067aa0ba902b7", &"0".repeat(16)),
        VALID.replace('-', "_"),
    ];
    for text in invalid {
        assert_eq!(TraceContext::parse(&text), None, "{text:?}");
    }
    let mut twice = headers(VALID, "", "");
    twice.append(TRACEPARENT, HeaderValue::from_static(VALID));
    assert_eq!(TraceContext::from_headers(&twice), None, "two parents");
}

#[test]
fn state_and_baggage_are_kept_within_their_limits() {
    let read = |state: &str, baggage: &str| {
        let context = TraceContext::from_headers(&headers(VALID, state, baggage)).expect("a valid parent");
        (context.state, context.baggage)
    };
    assert_eq!(read("a=1,b@c=2", "user=x;p=1, k=v"), ("a=1,b@c=2".to_owned(), "user=x;p=1, k=v".to_owned()));
    assert_eq!(read("A=1", "no-pair").0, "");
    assert_eq!(read(&format!("a={}", "x".repeat(600)), &format!("a={}", "x".repeat(9000))), Default::default());
    assert_eq!(read(&["a=1"; 33].join(","), &["a=1"; 65].join(",")), Default::default());
}

#[test]
fn sampler_follows_the_parent_or_the_ratio() {
    let parent = TraceContext::parse(VALID).expect("valid");
    let unsampled = TraceContext { is_sampled: false, ..parent.clone() };
    let none = Sampler { is_parent_based: true, ratio: 0.0 };
    assert!(none.should_sample(1, Some(&parent)) && !none.should_sample(1, None));
    assert!(!Sampler::default().should_sample(1, Some(&unsampled)) && Sampler::default().should_sample(1, None));
    let half = Sampler { is_parent_based: false, ratio: 0.5 };
    let sampled = (0..1000_u128).filter(|id| half.should_sample(id << 54, Some(&unsampled))).count();
    assert!((450..=550).contains(&sampled), "{sampled}");
}

#[test]
fn span_is_encoded_as_json_and_protobuf() {
    let span = FinishedSpan {
        trace_id: 1,
        span_id: 2,
        parent_id: Some(3),
        name: "a \"name\"".into(),
        kind: SpanKind::Server,
        started: 4,
        ended: 5,
        is_error: true,
        attributes: vec![("http.response.status_code", AttributeValue::Integer(500))],
    };
    let request = build_traces_request(&[("service.name".to_owned(), "test".to_owned())], &[span]);
    let json: serde_json::Value = serde_json::from_slice(&OtlpProtocol::HttpJson.encode(&request)).expect("JSON");
    let span = &json["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&format!("{:032x}", 1).into(), &format!("{:016x}", 3).into())
    );
    assert_eq!((&span["name"], &span["startTimeUnixNano"]), (&"a \"name\"".into(), &"4".into()));
    assert_eq!((&span["status"]["code"], &span["attributes"][0]["value"]["intValue"]), (&2.into(), &"500".into()));
    let bytes = OtlpProtocol::HttpProtobuf.encode(&request);
    // `resource_spans` is field 1 and the only one: tag, length, content.
    assert_eq!(bytes[0], 0x0a);
    let (length, at) = if bytes[1] < 0x80 {
        (usize::from(bytes[1]), 2)
    } else {
        (usize::from(bytes[1] & 0x7f) | usize::from(bytes[2]) << 7, 3)
    };
    assert_eq!(bytes.len(), at + length);
    assert!(bytes.windows(2).any(|field| field == [0x30, 2]), "kind is field 6 of a span");
}

proptest! {
    #[test]
    fn any_headers_are_read_without_panic(parent in ".{0,80}", state in ".{0,80}", baggage in ".{0,80}") {
        let _ = TraceContext::from_headers(&headers(&parent, &state, &baggage));
    }

    #[test]
    fn contexts_survive_formatting(trace_id in 1..=u128::MAX, span_id in 1..=u64::MAX, is_sampled in any::<bool>()) {
        let context = TraceContext { trace_id, span_id, is_sampled, state: String::new(), baggage: String::new() };
        prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
    }

    #[test]
    fn changed_traceparent_is_valid_only_in_its_form(at in 0..55_usize, byte in 0x20_u8..0x7f) {
        let mut bytes = VALID.as_bytes().to_vec();
        bytes[at] = byte;
        let text = String::from_utf8(bytes).expect("ASCII");
        if let Some(context) = TraceContext::parse(&text) {
            prop_assert_eq!(&context.to_string()[2..52], &text[2..52]);
        }
    }
}
