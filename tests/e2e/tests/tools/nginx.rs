//! Tests NGINX as the server behind Weir.

use weir_e2e::{Weir, web};

use crate::tool;

#[test]
fn nginx_as_a_server_is_understood() {
    // NGINX chooses the framing of its responses itself, over connections that are kept open.
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
    let mut command = tool::command("nginx");
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
