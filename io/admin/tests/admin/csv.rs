//! Tests of the CSV of HAProxy's `show stat`.

use std::collections::BTreeMap;

use weir_admin::stat_csv;

use crate::common;

/// First line of the output of HAProxy 3.5.
const HEADER: &str = "# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,\
status,weight,act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,lbtot,tracked,type,rate,rate_lim,\
rate_max,check_status,check_code,check_duration,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,hanafail,\
req_rate,req_rate_max,req_tot,cli_abrt,srv_abrt,comp_in,comp_out,comp_byp,comp_rsp,lastsess,last_chk,last_agt,qtime,\
ctime,rtime,ttime,agent_status,agent_code,agent_duration,check_desc,agent_desc,check_rise,check_fall,check_health,\
agent_rise,agent_fall,agent_health,addr,cookie,mode,algo,conn_rate,conn_rate_max,conn_tot,intercepted,dcon,dses,wrew,\
connect,reuse,cache_lookups,cache_hits,srv_icur,src_ilim,qtime_max,ctime_max,rtime_max,ttime_max,eint,idle_conn_cur,\
safe_conn_cur,used_conn_cur,need_conn_est,uweight,agg_server_status,agg_server_check_status,agg_check_status,srid,\
sess_other,h1sess,h2sess,h3sess,req_other,h1req,h2req,h3req,proto,priv_idle_cur,reqbin,reqbout,resbin,resbout,\
cache_hint_hits,-,";

/// Splits a line by the rules of RFC 4180.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cells.last_mut().unwrap().extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted, "{line}");
    cells
}

fn rows() -> Vec<BTreeMap<String, String>> {
    let csv = stat_csv(&common::snapshot());
    let mut lines = csv.lines();
    let names = cells(lines.next().unwrap());
    let row = |line: &str| -> BTreeMap<String, String> {
        let cells = cells(line);
        assert_eq!(cells.len(), names.len(), "{line}");
        names.iter().cloned().zip(cells).filter(|(_, value)| !value.is_empty()).collect()
    };
    lines.map(row).collect()
}

#[test]
fn the_header_is_haproxys() {
    let csv = stat_csv(&common::snapshot());
    let header = csv.lines().next().unwrap();
    assert_eq!(header, HEADER);
    // 119 columns, the dash after them, and nothing after the last comma.
    assert_eq!(header.split(',').count(), 119 + 2);
}

#[test]
fn there_is_a_line_for_each_listener_server_and_pool_in_haproxys_order() {
    let names: Vec<_> = rows()
        .iter()
        .map(|row| {
            format!("{}/{} {}-{} {}", row["# pxname"], row["svname"], row["iid"], row["sid"], row["type"])
        })
        .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    https/FRONTEND 2-0 0
    smtp/FRONTEND 3-0 0
    web/w1 4-1 2
    web/w2 4-2 2
    web/w3 4-3 2
    web/w4 4-4 2
    web/w5 4-5 2
    web/w6 4-6 2
    web/spare 4-7 2
    web/BACKEND 4-0 1
    mail/m1 5-1 2
    mail/BACKEND 5-0 1
    ");
}

#[test]
fn states_are_haproxys_words() {
    let states: Vec<_> = rows().iter().map(|row| row["status"].clone()).collect();
    let expected = [
        "OPEN", "OPEN", "UP", "UP 1/3", "DOWN", "DRAIN", "DOWN", "no check", "MAINT", "UP", "DOWN 1/2",
        "DOWN",
    ];
    assert_eq!(states, expected);
}

#[test]
fn numbers_are_in_haproxys_columns_and_units() {
    let rows = rows();
    let value = |row: usize, column: &str| rows[row].get(column).map(String::as_str).unwrap_or_default();
    let shown = |row: usize, columns: &[&str]| -> Vec<String> {
        columns.iter().map(|column| format!("{column}={}", value(row, column))).collect()
    };
    let frontend =
        ["scur", "smax", "slim", "stot", "dreq", "dcon", "ereq", "hrsp_2xx", "hrsp_5xx", "req_rate", "mode"];
    insta::assert_snapshot!(shown(0, &frontend).join(" "), @"scur=1300 smax=4000 slim=40000 stot=900000 dreq=4 dcon=17 ereq=230 hrsp_2xx=11500000 hrsp_5xx=1988 req_rate=5100 mode=http");
    let server = [
        "scur",
        "smax",
        "slim",
        "econ",
        "eresp",
        "wretr",
        "weight",
        "uweight",
        "act",
        "bck",
        "lastchg",
        "chkfail",
        "chkdown",
        "downtime",
        "check_status",
        "check_code",
        "check_duration",
        "last_chk",
        "check_desc",
        "addr",
        "lastsess",
        "ttime_max",
    ];
    insta::assert_snapshot!(shown(2, &server).join(" "), @"scur=400 smax=800 slim=1000 econ=4 eresp=4 wretr=10 weight=1 uweight=1 act=1 bck=0 lastchg=3723 chkfail=0 chkdown=0 downtime=0 check_status=L7OK check_code=200 check_duration=1 last_chk= check_desc=Layer7 check passed addr=10.0.0.11:8080 lastsess=0 ttime_max=44");
    insta::assert_snapshot!(shown(4, &server).join(" "), @r#"scur=0 smax=0 slim=1000 econ=0 eresp=0 wretr=0 weight=0 uweight=1 act=1 bck=0 lastchg=3723 chkfail=40 chkdown=3 downtime=754 check_status=L4CON check_code= check_duration=1 last_chk=Connection refused, "again" check_desc=Layer4 connection problem addr=web-3.example:8080 lastsess=-1 ttime_max=0"#);
    let backend = ["qcur", "qmax", "act", "bck", "weight", "algo", "wretr", "wredis", "qtime", "qtime_max"];
    insta::assert_snapshot!(shown(9, &backend).join(" "), @"qcur=2 qmax=57 act=3 bck=0 weight=3 algo=leastconn wretr=33 wredis=30 qtime=12 qtime_max=12");
}

#[test]
fn a_server_without_checks_and_a_tcp_pool_leave_their_columns_empty() {
    let rows = rows();
    for column in ["check_status", "chkfail", "chkdown", "downtime", "check_desc"] {
        assert_eq!(rows[7].get(column), None, "{column}");
    }
    for column in ["hrsp_2xx", "req_tot"] {
        assert_eq!(rows[10].get(column), None, "{column}");
    }
}

#[test]
fn a_text_with_line_ends_stays_on_its_line() {
    let mut snapshot = common::snapshot();
    let lines = stat_csv(&snapshot).lines().count();
    let check = snapshot.pools[0].servers[0].check.as_mut().unwrap();
    check.text = "a,\"b\"\r\nweb,FAKE,0".to_owned();
    let csv = stat_csv(&snapshot);
    assert_eq!(csv.lines().count(), lines);
    assert!(csv.contains("\"a,\"\"b\"\"  web,FAKE,0\""), "{csv}");
}
