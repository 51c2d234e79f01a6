//! Programs that people use against a balancer, from Debian's packages. One that is not installed is skipped, and says
//! so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use weir_e2e::{Weir, web};
use weir_origin::{Origin, OriginHandle};

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

/// Runs a program; `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed");
            None
        }
        Err(cause) => panic!("{program}: {cause}"),
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The number behind a label in a report.
fn number(report: &str, label: &str) -> f64 {
    let behind = report.split_once(label).unwrap_or_else(|| panic!("no {label:?} in {report}")).1;
    let number: String =
        behind.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().unwrap_or_else(|_| panic!("{label:?} in {report}"))
}

#[test]
fn curl_gets_puts_and_expects() {
    let site = site();
    let directory = weir_testkit::TempDir::new().unwrap();
    let file = directory.path().join("body");
    std::fs::write(&file, vec![b'x'; 2_000_000]).unwrap();
    let Some(get) = run("curl", &["-sS", &site.url("/bytes/100000")]) else { return };
    assert_eq!(get.stdout.len(), 100_000);
    let upload = ["-sS", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &upload).unwrap()).contains("\"bytes\":2000000"));
    let chunked =
        ["-sS", "-H", "Transfer-Encoding: chunked", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &chunked).unwrap()).contains("\"bytes\":2000000"));
    let expect = ["-sS", "-H", "Expect: 100-continue", "-T", file.to_str().unwrap(), &site.url("/upload")];
    assert!(text(&run("curl", &expect).unwrap()).contains("\"bytes\":2000000"));
    let old = run("curl", &["-sS", "--http1.0", &site.url("/bytes/70000?chunked")]).unwrap();
    assert_eq!(old.stdout.len(), 70_000);
    let several = run(
        "curl",
        &[
            "-sS",
            "-w",
            "%{num_connects} ",
            "-o",
            "/dev/null",
            "-o",
            "/dev/null",
            &site.url("/"),
            &site.url("/"),
        ],
    );
    assert_eq!(text(&several.unwrap()), "1 0 ");
}

#[test]
fn wrk_sees_no_error() {
    let site = site();
    let Some(output) = run("wrk", &["-t1", "-c32", "-d1s", &site.url("/bytes/1024")]) else { return };
    let report = text(&output);
    assert!(!report.contains("Socket errors") && !report.contains("Non-2xx"), "{report}");
    assert!(number(&report, "Requests/sec:") > 0.0);
}

#[test]
fn ab_sees_no_error_with_and_without_keep_alive() {
    for keep_alive in [true, false] {
        let site = site();
        let url = site.url("/bytes/1024");
        let mut arguments = vec!["-q", "-n", "2000", "-c", "16"];
        arguments.extend(keep_alive.then_some("-k"));
        arguments.push(&url);
        let Some(output) = run("ab", &arguments) else { return };
        let report = text(&output);
        assert_eq!(number(&report, "Complete requests:"), 2000.0, "{report}");
        assert_eq!(number(&report, "Failed requests:"), 0.0, "{report}");
        if keep_alive {
            assert_eq!(number(&report, "Keep-Alive requests:"), 2000.0, "{report}");
        }
        assert_eq!(site.requests(), 2000);
    }
}

#[test]
fn httperf_sees_no_error() {
    let site = site();
    let port = site.weir.addr("web").port().to_string();
    let arguments = [
        "--hog",
        "--server",
        "127.0.0.1",
        "--port",
        &port,
        "--uri",
        "/bytes/1024",
        "--num-conns",
        "50",
        "--num-calls",
        "10",
        "--rate",
        "200",
        "--timeout",
        "20",
    ];
    let Some(output) = run("httperf", &arguments) else { return };
    let report = text(&output);
    assert_eq!(number(&report, "replies"), 500.0, "{report}");
    assert_eq!(number(&report, "Errors: total"), 0.0, "{report}");
}

#[test]
fn h2load_in_http_1_mode_sees_no_error() {
    let site = site();
    let Some(output) = run("h2load", &["--h1", "-n", "1000", "-c", "8", "-m", "4", &site.url("/bytes/1024")])
    else {
        return;
    };
    let report = text(&output);
    assert!(report.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"), "{report}");
    assert_eq!(site.requests(), 1000);
}

#[test]
fn a_websocket_client_is_answered() {
    // curl speaks WebSocket in newer versions only; the one of Python is in Debian as a package of its own.
    let site = site();
    let script = format!(
        "import asyncio, websockets\n\
         async def main():\n\
         \x20   async with websockets.connect('ws://{}/ws') as ws:\n\
         \x20       for size in (1, 200, 70000):\n\
         \x20           await ws.send('x' * size)\n\
         \x20           assert await ws.recv() == 'x' * size\n\
         \x20       await (await ws.ping())\n\
         \x20   print('all well')\n\
         asyncio.run(main())\n",
        site.weir.addr("web")
    );
    let Some(probe) = run("python3", &["-c", "import websockets"]) else { return };
    if !probe.status.success() {
        eprintln!("skipped: python3-websockets is not installed");
        return;
    }
    let output = run("python3", &["-c", &script]).unwrap();
    assert!(text(&output).contains("all well"), "{}", text(&output));
}

#[test]
fn nginx_as_a_server_is_understood() {
    // A server whose framing is nobody's here, over kept connections.
    let directory = weir_testkit::TempDir::new().unwrap();
    std::fs::write(directory.path().join("file"), vec![b'x'; 300_000]).unwrap();
    let root = directory.path().display();
    let socket = directory.path().join("nginx.sock");
    let config = format!(
        "daemon off; pid {root}/pid; error_log stderr; worker_processes 1; master_process off;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;\n\
         uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;\n\
         server {{ listen unix:{}; root {root}; location /chunked {{ gzip on; gzip_proxied any; gzip_types *; alias {root}/file; }} }} }}\n",
        socket.display()
    );
    let file = directory.path().join("nginx.conf");
    std::fs::write(&file, config).unwrap();
    if run("nginx", &["-v"]).is_none() {
        return;
    }
    let mut command = Command::new("nginx");
    command.arg("-c").arg(&file).arg("-e").arg("stderr");
    let _nginx = weir_testkit::Child::spawn(command);
    weir_testkit::wait_until("nginx listens", weir_testkit::PATIENCE, || {
        std::os::unix::net::UnixStream::connect(&socket).is_ok()
    });
    let weir = Weir::start(&web(&[format!("unix:{}", socket.display())]));
    let mut client = weir.client();
    for _ in 0..20 {
        assert_eq!(client.exchange(weir_e2e::get("/file")).body.len(), 300_000);
        assert_eq!(client.exchange(weir_e2e::get("/none")).status, 404);
        let zipped = client.exchange("GET /chunked HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
        assert_eq!((zipped.status, zipped.header("transfer-encoding")), (200, Some("chunked")));
        assert!(zipped.body.starts_with(&[0x1f, 0x8b]));
    }
}
