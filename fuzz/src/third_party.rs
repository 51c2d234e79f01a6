//! Fuzzes requests for third-party copies and their redirections: no value can inject a line into a request
//! head.

use weir_dav::header::{OwnNames, RemoteUrl};
use weir_dav::path::PathLimits;
use weir_dav::third_party::{TransferRequest, failure_line};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(text: &[u8]) {
    let limits = PathLimits { bytes_max: 256, name_bytes_max: 64, depth_max: 16 };
    let own = OwnNames::new(["h"]).expect("a sound name");
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    });
    if let Ok(Some(request)) = TransferRequest::read(lines, &own, &limits) {
        is_sound(&request.remote);
        assert!(request.streams > 0 && request.sci_tag.is_none_or(|tag| tag >= 65));
        for (name, value) in &request.passed {
            assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':'));
            assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
            assert!(
                !["host", "content-length", "transfer-encoding", "connection"]
                    .contains(&name.to_ascii_lowercase().as_str())
            );
        }
    }
    let base = RemoteUrl::parse(b"https://a.example:8443/d/f?t=1", &limits).expect("a sound URL");
    if let Ok(next) = base.redirected(text, &limits) {
        is_sound(&next);
    }
    let line = failure_line(&String::from_utf8_lossy(text));
    assert_eq!(line.matches('\n').count(), 1);
}

fn is_sound(url: &RemoteUrl) {
    assert!(url.target.starts_with('/') && url.target.bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(!url.host.is_empty() && url.port != 0);
}
