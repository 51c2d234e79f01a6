//! Tests that every smuggling case gets its verdict, with any division of the bytes into pieces.

use weir_http::{BodyScanner, HeadLimits, HeaderTable, ResponseTo, parse_request, parse_response};

use crate::smuggling::{self, Case, Verdict};

#[test]
fn every_request_gets_its_verdict() {
    for case in smuggling::requests() {
        assert_eq!(request_verdict(&case.input, &[]), case.verdict, "{}", case.rule);
    }
}

#[test]
fn a_request_cut_anywhere_gets_the_same_verdict() {
    for case in smuggling::requests() {
        for cut in 1..case.input.len() {
            assert_eq!(request_verdict(&case.input, &[cut]), case.verdict, "{} cut at {cut}", case.rule);
        }
        let everywhere: Vec<usize> = (1..case.input.len()).collect();
        assert_eq!(request_verdict(&case.input, &everywhere), case.verdict, "{} byte by byte", case.rule);
    }
}

#[test]
fn every_response_gets_its_verdict_however_it_is_cut() {
    for case in smuggling::responses() {
        assert_eq!(response_verdict(&case, case.input.len()), case.verdict, "{}", case.rule);
        for step in 1..case.input.len() {
            assert_eq!(response_verdict(&case, step), case.verdict, "{} in pieces of {step}", case.rule);
        }
    }
}

#[test]
fn there_are_at_least_sixty_cases_and_each_names_its_rule_once() {
    let cases = smuggling::requests();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut rules: Vec<&str> = cases.iter().map(|case| case.rule.as_str()).collect();
    rules.sort_unstable();
    rules.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1]));
}

/// Parses `input` as a proxy does, in pieces that end at `cuts`.
fn request_verdict(input: &[u8], cuts: &[usize]) -> Vec<Verdict> {
    let mut table = HeaderTable::new();
    let mut verdicts = Vec::new();
    let mut start = 0;
    let mut body: Option<BodyScanner> = None;
    for end in cuts.iter().copied().chain([input.len()]) {
        while start < end || body.as_ref().is_some_and(BodyScanner::is_done) {
            match &mut body {
                Some(scanner) if scanner.is_done() => {
                    verdicts.push(Verdict::Forward);
                    body = None;
                }
                Some(scanner) => match scanner.feed(&input[start..end]) {
                    Ok(taken) => start += taken,
                    Err(error) => {
                        verdicts.push(Verdict::RefuseInBody(error.status()));
                        return verdicts;
                    }
                },
                None => match parse_request(&input[start..end], &HeadLimits::default(), &mut table) {
                    Ok(Some(head)) => {
                        start += head.head_bytes as usize;
                        body = Some(BodyScanner::new(head.framing));
                    }
                    Ok(None) => break,
                    Err(error) => {
                        verdicts.push(Verdict::Refuse(error.status()));
                        return verdicts;
                    }
                },
            }
        }
    }
    if start < input.len() || body.is_some() {
        verdicts.push(Verdict::Incomplete);
    }
    verdicts
}

/// Parses a response in pieces of `step` bytes.
fn response_verdict(case: &Case, step: usize) -> Vec<Verdict> {
    let mut table = HeaderTable::new();
    let input = &case.input;
    let mut end = 0;
    let head = loop {
        end = (end + step).min(input.len());
        match parse_response(&input[..end], ResponseTo::default(), &HeadLimits::default(), &mut table) {
            Ok(Some(head)) => break head,
            Ok(None) if end < input.len() => {}
            Ok(None) => return vec![Verdict::Incomplete],
            Err(error) => return vec![Verdict::Refuse(error.status())],
        }
    };
    let mut body = BodyScanner::of_response(head.framing);
    for piece in input[head.head_bytes as usize..].chunks(step) {
        if body.feed(piece).is_err() {
            return vec![Verdict::RefuseInBody(502)];
        }
    }
    vec![Verdict::Forward]
}
