//! Tests Weir with common client and server programs from Debian's packages. A test fails if its program is
//! not installed: `scripts/setup test` installs all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod curl;
mod demo_page;
mod demo_picture;
mod lab_report;
mod load;
mod load_http2;
mod load_page;
mod nginx;
mod nginx_for_storm;
mod nginx_in_front;
mod simulate;
mod status_page;
mod tool;
mod upload_page;
mod websocket;

use weir_e2e::{Weir, web};
use weir_origin::{Origin, OriginHandle};

/// Weir in front of two servers.
struct Site {
    weir: Weir,
    origins: [OriginHandle; 2],
}

fn site() -> Site {
    let origins = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
    Site { weir: Weir::start(&web(&[origins[0].addr(), origins[1].addr()])), origins }
}

impl Site {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.weir.addr("web"))
    }

    fn requests(&self) -> u64 {
        self.origins.iter().map(OriginHandle::requests).sum()
    }
}
