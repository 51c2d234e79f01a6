//! Mutates the inputs of a corpus. Seed, iteration and corpus determine the input, so that each iteration can
//! be repeated alone.

use crate::corpus::InputFile;

/// Maximum input size, above the largest limit that a target sets (8,192 bytes of XML).
pub(crate) const INPUT_BYTES_MAX: usize = 10_000;

/// Maximum number of mutations of one input.
const MUTATIONS_MAX: u64 = 8;

/// Bytes that end, quote, escape or nest something in one of the formats, and the limits of byte ranges.
const BYTES: &[u8] = b"\0\t\n\r \"#%&'()*,-./0:;<=>?@[\\]_`{|}~\x7f\x80\xc0\xff";

/// Values around the limits of integer types, and around limits that parsers of sizes often get wrong.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "00",
    "1e9",
    "255",
    "256",
    "32768",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "999999999999999",
    "1000000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "ffffffffffffffff",
    "10000000000000000",
];

/// Big-endian lengths for binary formats.
const BINARY: &[&[u8]] = &[
    &[0, 0],
    &[0, 1],
    &[0x7f, 0xff],
    &[0xff, 0xff],
    &[0, 0, 1],
    &[0xff, 0xff, 0xff],
    &[0x80, 0, 0, 0],
    &[0xff; 4],
];

pub(crate) struct Mutator {
    corpus: Vec<Vec<u8>>,
    /// Words and lines of the corpus.
    dictionary: Vec<Vec<u8>>,
    seed: u64,
}

impl Mutator {
    pub(crate) fn new(corpus: &[InputFile], seed: u64) -> Self {
        let corpus: Vec<_> = corpus.iter().map(|file| file.bytes.clone()).collect();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let words = corpus.iter().flat_map(|input| input.split(|byte| !is_word(*byte)));
        let lines = corpus.iter().flat_map(|input| input.split_inclusive(|byte| *byte == b'\n'));
        let mut dictionary: Vec<_> =
            words.chain(lines).filter(|token| (2..=200).contains(&token.len())).map(<[u8]>::to_vec).collect();
        dictionary.sort();
        dictionary.dedup();
        Self { corpus, dictionary, seed }
    }

    /// Returns the input of one iteration, at most [`INPUT_BYTES_MAX`] long.
    pub(crate) fn input(&self, iteration: u64) -> Vec<u8> {
        let mut random = Random::of(self.seed, iteration);
        let mut input = random.choose(&self.corpus).cloned().unwrap_or_default();
        for _ in 0..=random.below(MUTATIONS_MAX) {
            self.mutate(&mut input, &mut random);
            input.truncate(INPUT_BYTES_MAX);
        }
        input
    }

    fn mutate(&self, input: &mut Vec<u8>, random: &mut Random) {
        match random.below(12) {
            0 => flip_bit(input, random),
            1 => set_byte(input, random),
            2 => insert(input, random),
            3 => drop(input.drain(random.range(input.len()))),
            4 => repeat(input, random),
            5 => copy_elsewhere(input, random),
            6 => insert_token(input, random, &self.dictionary),
            7 => replace_word(input, random, &self.dictionary),
            8 => replace_number(input, random),
            9 => overwrite_integer(input, random),
            10 => splice(input, random, &self.corpus),
            _ => input.truncate(random.index(input.len() + 1)),
        }
    }
}

fn flip_bit(input: &mut [u8], random: &mut Random) {
    let (at, bit) = (random.index(input.len()), random.below(8));
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

fn set_byte(input: &mut [u8], random: &mut Random) {
    let (at, value) = (random.index(input.len()), random.byte());
    if let Some(byte) = input.get_mut(at) {
        *byte = value;
    }
}

fn insert(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.index(input.len() + 1);
    let bytes: Vec<_> = (0..=random.below(4)).map(|_| random.byte()).collect();
    input.splice(at..at, bytes);
}

/// Repeats a range, to produce deep nesting and counts above limits.
fn repeat(input: &mut Vec<u8>, random: &mut Random) {
    let range = random.range(input.len());
    let times = 1 << random.below(8);
    let repeated = input[range.clone()].repeat(times.min(INPUT_BYTES_MAX / range.len().max(1)));
    input.splice(range.end..range.end, repeated);
}

fn copy_elsewhere(input: &mut Vec<u8>, random: &mut Random) {
    let copied = input[random.range(input.len())].to_vec();
    let at = random.index(input.len() + 1);
    input.splice(at..at, copied);
}

fn insert_token(input: &mut Vec<u8>, random: &mut Random, dictionary: &[Vec<u8>]) {
    let at = random.index(input.len() + 1);
    let token = random.choose(dictionary).cloned().unwrap_or_default();
    input.splice(at..at, token);
}

fn replace_word(input: &mut Vec<u8>, random: &mut Random, dictionary: &[Vec<u8>]) {
    let word = run_of(input, random, |byte| byte.is_ascii_alphanumeric());
    let token = random.choose(dictionary).cloned().unwrap_or_default();
    input.splice(word, token);
}

fn replace_number(input: &mut Vec<u8>, random: &mut Random) {
    let number = run_of(input, random, |byte| byte.is_ascii_digit());
    let other = random.choose(NUMBERS).copied().unwrap_or_default();
    input.splice(number, other.bytes());
}

fn overwrite_integer(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.index(input.len());
    let integer = random.choose(BINARY).copied().unwrap_or_default();
    let end = input.len().min(at + integer.len());
    input.splice(at..end, integer.iter().copied());
}

/// Keeps the start of the input and appends the end of another input of the corpus.
fn splice(input: &mut Vec<u8>, random: &mut Random, corpus: &[Vec<u8>]) {
    input.truncate(random.index(input.len() + 1));
    if let Some(other) = random.choose(corpus) {
        input.extend_from_slice(&other[random.index(other.len() + 1)..]);
    }
}

/// Returns the first run of matching bytes at or after a random position; empty if there is none.
fn run_of(input: &[u8], random: &mut Random, is_in: impl Fn(&u8) -> bool) -> std::ops::Range<usize> {
    let from = random.index(input.len());
    let start = input[from..].iter().position(&is_in).map_or(from, |offset| from + offset);
    let len = input[start..].iter().take_while(|byte| is_in(byte)).count();
    start..start + len
}

/// SplitMix64 random generator: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn of(seed: u64, iteration: u64) -> Self {
        // Mixes twice, so that neighbouring seeds and iterations give unrelated sequences.
        let start = Self(seed).next();
        Self(Self(start ^ iteration).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.index(items.len()))
    }

    /// Returns a range in an input of `len` bytes; short ranges are more frequent.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.index(len);
        let longest = (len - start).min(1 << self.below(12));
        start..start + self.index(longest + 1)
    }

    fn byte(&mut self) -> u8 {
        match self.below(2) {
            0 => self.choose(BYTES).copied().unwrap_or_default(),
            _ => self.next() as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn corpus(inputs: &[&[u8]]) -> Vec<InputFile> {
        inputs.iter().map(|bytes| InputFile { path: "".into(), bytes: bytes.to_vec() }).collect()
    }

    fn head() -> Vec<InputFile> {
        corpus(&[b"GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 17\r\n\r\n", b"PUT /b HTTP/1.0\r\n\r\n"])
    }

    #[test]
    fn the_seed_determines_the_inputs() {
        let inputs = |seed| -> Vec<_> {
            let mutator = Mutator::new(&head(), seed);
            (0..100).map(|iteration| mutator.input(iteration)).collect()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn nearly_all_inputs_differ() {
        let mutator = Mutator::new(&head(), 1);
        let inputs: HashSet<_> = (0..10_000).map(|iteration| mutator.input(iteration)).collect();
        assert!(inputs.len() > 9_000, "{}", inputs.len());
    }

    #[test]
    fn inputs_are_bounded_and_reach_the_bound() {
        let mutator = Mutator::new(&corpus(&[&[b'('; 4_000]]), 1);
        let longest = (0..10_000).map(|iteration| mutator.input(iteration).len()).max();
        assert_eq!(longest, Some(INPUT_BYTES_MAX));
    }

    #[test]
    fn an_empty_input_grows() {
        let mutator = Mutator::new(&corpus(&[b""]), 1);
        assert!((0..1_000).any(|iteration| mutator.input(iteration).len() > 10));
    }

    /// Checks this within the few thousand inputs that a slow target gets.
    #[test]
    fn every_kind_of_mutation_has_its_effect() {
        let mutator = Mutator::new(&head(), 1);
        let inputs: Vec<_> = (0..5_000).map(|iteration| mutator.input(iteration)).collect();
        let has = |wanted: &dyn Fn(&[u8]) -> bool| inputs.iter().any(|input| wanted(input));
        let contains =
            |part: &'static [u8]| move |input: &[u8]| input.windows(part.len()).any(|window| window == part);
        assert!(has(&contains(b"Content-Length: 18446744073709551616\r\n")), "number");
        assert!(has(&contains(b"Host: h\r\nHost: h\r\n")), "duplicate line");
        assert!(has(&contains(b"PUT /a HTTP/1.1\r\n")), "word of another file");
        assert!(
            has(&|input| input.starts_with(b"PUT /b HTTP/1.0\r\n") && contains(b"Host: h")(input)),
            "splice"
        );
        assert!(has(&|input| b"GET /a HTTP/1.1\r\nHost".starts_with(input)), "truncation");
        assert!(has(&contains(&[0xff; 4])), "binary integer");
        assert!(has(&contains(&[b'/'; 64])), "repetition");
        assert!(has(&|input| input.starts_with(b"GET /a\0")), "byte");
    }
}
