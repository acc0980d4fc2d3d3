// SPDX-License-Identifier: Apache-2.0

// A client by h3i for http3_h3i.py: does what it is told on one connection, and prints what came of it.
//
//     http3_h3i HOST:PORT ACTION ...
//
// Of an action the words are separated by spaces; STREAM is a number, with a + behind it where the stream ends there:
//
//     headers STREAM NAME=VALUE ...    HEADERS; literally STREAM ...: names as they stand
//     data STREAM TEXT                 DATA
//     settings STREAM ID=VALUE ...     SETTINGS
//     goaway|max_push_id|cancel_push STREAM ID
//     priority STREAM ID VALUE         PRIORITY_UPDATE of a request
//     push_promise STREAM ID           with an empty field section
//     frame STREAM TYPE HEX            any other
//     uni STREAM TYPE                  opens a unidirectional stream
//     bytes STREAM HEX
//     reset|stop STREAM CODE           RESET_STREAM, STOP_SENDING
//     flush                            what was said so far goes in packets of its own
//     until STREAM                     it ended, or was reset
//     pause MILLISECONDS
//     close CODE
use h3i::actions::h3::{send_headers_frame, send_headers_frame_literal, Action, StreamEvent, StreamEventType, WaitType};
use h3i::client::sync_client;
use h3i::config::Config;
use h3i::frame::H3iFrame;
use h3i::quiche::h3::{frame::Frame, Header};
use h3i::quiche::ConnectionError;
use std::time::Duration;

fn number(word: &str) -> u64 {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("not a number: {word}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn fields(words: &[&str]) -> Vec<Header> {
    let at = |word: &str| word[1..].find('=').expect("NAME=VALUE") + 1;
    words.iter().map(|w| Header::new(w[..at(w)].as_bytes(), w[at(w) + 1..].as_bytes())).collect()
}

fn settings(words: &[&str]) -> Frame {
    let pairs = words.iter().map(|w| w.split_once('=').expect("ID=VALUE")).map(|(id, value)| (number(id), number(value)));
    Frame::Settings {
        max_field_section_size: None,
        qpack_max_table_capacity: None,
        qpack_blocked_streams: None,
        connect_protocol_enabled: None,
        h3_datagram: None,
        grease: None,
        additional_settings: Some(pairs.collect()),
        raw: None,
    }
}

fn action(text: &str) -> Action {
    let words: Vec<&str> = text.split(' ').collect();
    let word = |i: usize| *words.get(i).unwrap_or(&"");
    let fin_stream = word(1).ends_with('+');
    let stream_id = word(1).trim_end_matches('+').parse().unwrap_or(0);
    let frame = |frame| Action::SendFrame { stream_id, fin_stream, frame };
    match words[0] {
        "headers" => send_headers_frame(stream_id, fin_stream, fields(&words[2..])),
        "literally" => send_headers_frame_literal(stream_id, fin_stream, fields(&words[2..])),
        "data" => frame(Frame::Data { payload: word(2).as_bytes().to_vec() }),
        "settings" => frame(settings(&words[2..])),
        "goaway" => frame(Frame::GoAway { id: number(word(2)) }),
        "max_push_id" => frame(Frame::MaxPushId { push_id: number(word(2)) }),
        "cancel_push" => frame(Frame::CancelPush { push_id: number(word(2)) }),
        "priority" => frame(Frame::PriorityUpdateRequest {
            prioritized_element_id: number(word(2)),
            priority_field_value: word(3).as_bytes().to_vec(),
        }),
        "push_promise" => frame(Frame::PushPromise { push_id: number(word(2)), header_block: vec![0, 0] }),
        "frame" => frame(Frame::Unknown { raw_type: number(word(2)), payload: bytes(word(3)) }),
        "uni" => Action::OpenUniStream { stream_id, fin_stream, stream_type: number(word(2)) },
        "bytes" => Action::StreamBytes { stream_id, fin_stream, bytes: bytes(word(2)) },
        "reset" => Action::ResetStream { stream_id, error_code: number(word(2)) },
        "stop" => Action::StopSending { stream_id, error_code: number(word(2)) },
        "flush" => Action::FlushPackets,
        "until" => WaitType::StreamEvent(StreamEvent { stream_id, event_type: StreamEventType::Finished }).into(),
        "pause" => WaitType::WaitDuration(Duration::from_millis(number(word(1)))).into(),
        "close" => Action::ConnectionClose {
            error: ConnectionError { is_app: true, error_code: number(word(1)), reason: vec![] },
        },
        other => panic!("no such action: {other}"),
    }
}

fn tell(id: u64, frame: &H3iFrame) {
    match frame {
        H3iFrame::Headers(h) => {
            let status = h.status_code().map(|s| String::from_utf8_lossy(s).into_owned());
            println!("stream {id} status {}", status.unwrap_or_default());
        }
        H3iFrame::ResetStream(r) => println!("stream {id} reset {:#x}", r.error_code),
        H3iFrame::QuicheH3(Frame::Data { payload }) => println!("stream {id} body {}", payload.len()),
        H3iFrame::QuicheH3(f) => println!("stream {id} frame {f:?}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port = arguments[0].rsplit(':').next().expect("HOST:PORT");
    let config = Config::new()
        .with_host_port(format!("localhost:{port}"))
        .with_connect_to(arguments[0].clone())
        .verify_peer(false)
        .with_idle_timeout(5000)
        .build()
        .expect("configuration");
    let actions = arguments[1..].iter().map(|a| action(a)).collect();
    let summary = match sync_client::connect(config, actions, None) {
        Ok(summary) => summary,
        Err(error) => panic!("{error:?}"),
    };
    match summary.conn_close_details.peer_error() {
        Some(error) => println!("connection {} {:#x}", if error.is_app { "application" } else { "transport" }, error.error_code),
        None => println!("connection {}", if summary.conn_close_details.timed_out { "silent" } else { "open" }),
    }
    for id in [0, 4, 8, 12] {
        for frame in summary.stream_map.stream(id) {
            tell(id, &frame);
        }
    }
}
