//! Reading of lines with a limit.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// More bytes than permitted, without a line end.
    TooLong,
    /// End of the stream. Bytes after the last line end are dropped, because they may be half a command.
    End,
}

/// Reads up to the next line end, at most `bytes_max` bytes.
pub(super) async fn read_line(from: &mut (impl AsyncBufRead + Unpin), bytes_max: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Ok(Line::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > bytes_max {
            return Ok(Line::TooLong);
        }
        line.extend_from_slice(&available[..taken]);
        from.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Line::Whole(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut from = tokio::io::BufReader::with_capacity(3, text);
        let mut lines = Vec::new();
        loop {
            let line = read_line(&mut from, 5).await.unwrap();
            let last = !matches!(line, Line::Whole(_));
            lines.push(line);
            if last {
                return lines;
            }
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_end_at_line_ends_wherever_reads_end() {
        assert_eq!(lines(b"abcde\n\nf\n").await, [whole("abcde"), whole(""), whole("f"), Line::End]);
    }

    #[tokio::test]
    async fn half_a_line_at_the_end_is_no_line() {
        assert_eq!(lines(b"ab\ncd").await, [whole("ab"), Line::End]);
    }

    #[tokio::test]
    async fn a_line_is_too_long_before_it_ends() {
        assert_eq!(lines(b"ab\nabcdef").await, [whole("ab"), Line::TooLong]);
    }
}
