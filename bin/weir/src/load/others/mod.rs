//! Command lines of other load generators. They are translated to the options of `weir load`, and the report
//! has the format of the other generator.
//!
//! An option whose meaning cannot be kept is refused. An option that only affects the generator's own output
//! is accepted without effect.

mod ab;
mod httperf;

use clap::Parser;

pub(super) use ab::AbArgs;
pub(super) use httperf::HttperfArgs;

use super::arguments::MakeArgs;

/// A load that was requested with the options of another generator.
#[derive(Debug)]
pub(super) struct Translated {
    /// The equivalent options of `weir load`.
    pub(super) args: MakeArgs,
    /// The equivalent command line for a shell.
    pub(super) line: String,
}

#[derive(Debug, Parser)]
#[command(name = "weir load", no_binary_name = true)]
struct Words {
    #[command(flatten)]
    args: MakeArgs,
}

impl Translated {
    /// Parses `words`, which are the options and the URL of `weir load`.
    fn new(words: Vec<String>) -> Result<Self, String> {
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = format!("weir load {}", quoted.join(" "));
        let words = Words::try_parse_from(words).map_err(|cause| format!("{line}: {cause}"))?;
        Ok(Self { args: words.args, line })
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    enum Cli {
        Ab(AbArgs),
        #[command(infer_long_args = true)]
        Httperf(HttperfArgs),
    }

    fn line(words: &str) -> Result<String, String> {
        let cli = Cli::try_parse_from(["load"].into_iter().chain(words.split(' ')))
            .map_err(|cause| cause.to_string())?;
        let translated = match cli {
            Cli::Ab(args) => args.translated(),
            Cli::Httperf(args) => args.translated(),
        };
        translated.map(|translated| translated.line)
    }

    #[test]
    fn command_lines_of_ab_are_said_in_weirs_words() {
        for (theirs, ours) in [
            ("ab http://a/", "-c 1 --no-keep-alive --requests 1 http://a/"),
            ("ab -n1000 -kc 50 https://a:444/x?y", "-c 50 --requests 1000 'https://a:444/x?y'"),
            ("ab -t 5 -k http://a/", "-c 1 --requests 50000 --duration 5s http://a/"),
            (
                "ab -t 5 -n 10 -s 3 -ik http://a/",
                "-c 1 --requests 10 --duration 5s --timeout 3s --method HEAD http://a/",
            ),
            (
                "ab -k -p body -T text/csv http://a/",
                "-c 1 --requests 1 --method POST --header 'Content-Type: text/csv' --body @body http://a/",
            ),
            (
                "ab -k -u body http://a/",
                "-c 1 --requests 1 --method PUT --header 'Content-Type: text/plain' --body @body http://a/",
            ),
            (
                "ab -k -H A:b -C c=d -C e=f -m PROPFIND -B 10.0.0.1 -g out -q http://a/",
                "-c 1 --requests 1 --method PROPFIND --header A:b --header 'Cookie: c=d; e=f' --source 10.0.0.1 --gnuplot out --quiet http://a/",
            ),
        ] {
            let expected = format!("weir load --report ab --insecure {ours}");
            assert_eq!(line(theirs).unwrap(), expected, "{theirs}");
        }
        for (theirs, part) in [
            ("ab -X proxy:80 http://a/", "'-X'"),
            ("ab -c 5 -n 2 http://a/", "-c 5"),
            ("ab", "URL"),
            ("ab -p a -u b http://a/", "cannot be used with"),
        ] {
            let error = line(theirs).unwrap_err();
            assert!(error.contains(part), "{theirs}: {error}");
        }
    }

    #[test]
    fn command_lines_of_httperf_are_said_in_weirs_words() {
        for (theirs, ours) in [
            ("httperf", "--no-keep-alive -c 1 --requests 1 http://localhost:80/"),
            (
                "httperf --hog --server www --num-conns 100 --ra 10 --timeout 5",
                "--calls 1 --rate 10 --requests 100 --timeout 5s http://www:80/",
            ),
            (
                "httperf --server=::1 --port=81 --uri=/x --rate=0.5 --num-conn=9 --num-call=3 --think-timeout 1.5 --timeout 2",
                "--calls 3 --rate 0.5 --requests 9 --timeout 3.5s 'http://[::1]:81/x'",
            ),
            (
                "httperf --ssl --server a --wsess=10,5,2 --rate 1",
                "--calls 5 --rate 1 --requests 10 --pause 2s https://a:443/",
            ),
            (
                "httperf --server a --period e0.01 --num-conns 7 --method HEAD --server-name b",
                "--calls 1 --rate 100 --poisson --requests 7 --method HEAD --header 'Host: b' http://a:80/",
            ),
            (
                r"httperf --server a --period=d0.1 --add-header A:b\nC:d\n --client 0/1 --recv-buffer 4096 -v",
                "--calls 1 --rate 10 --requests 1 --header A:b --header C:d http://a:80/",
            ),
        ] {
            let expected = format!("weir load --report httperf --insecure {ours}");
            assert_eq!(line(theirs).unwrap(), expected, "{theirs}");
        }
        for (theirs, part) in [
            ("httperf --wlog y,file", "--wlog"),
            ("httperf --num-calls 5", "--rate"),
            ("httperf --period u1,3", "uniform"),
            ("httperf --burst-length 4", "pipelined"),
            ("httperf --http-version 1.0", "1.1"),
            ("httperf --wsess 1,2 --rate 1", "N1,N2,X"),
        ] {
            let error = line(theirs).unwrap_err();
            assert!(error.contains(part), "{theirs}: {error}");
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(["a-b", "", "a b", "it's"].map(quoted), ["a-b", "''", "'a b'", "'it'\\''s'"]);
    }
}
