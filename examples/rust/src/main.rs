//! Creates orders through Countersign with reqwest: COUNT of them, over one connection.
use reqwest::blocking::Client;
use reqwest::{redirect, retry};
use serde_json::json;
use std::{env, process::exit, time::Duration};

/// The outcome of one order.
fn create_order(client: &Client, base_url: &str, reference: &str) -> reqwest::Result<String> {
    let answer = client
        .post(format!("{base_url}/create_order"))
        .header("Countersign-Reference", reference)
        .json(&json!({ "order_amount": 10, "order_currency": "EUR" }))
        .send()?;
    let status = answer.status().as_u16();
    let outcome = answer.headers().get("Countersign-Outcome");
    let outcome = outcome.and_then(|value| value.to_str().ok()).unwrap_or("unknown").to_owned();
    answer.bytes()?; // read to its end, otherwise the connection is not kept
    println!("{status} {outcome}");
    Ok(outcome)
}

fn main() -> reqwest::Result<()> {
    // With HTTP_PROXY set, set NO_PROXY=127.0.0.1 too: reqwest uses the proxy for loopback addresses as well.
    let base_url = env::var("BASE_URL").unwrap_or("http://127.0.0.1:7411".into());
    let count: u32 = env::var("COUNT").map_or(1, |count| count.parse().expect("COUNT is a number"));
    let client = Client::builder()
        .timeout(Duration::from_secs(25)) // longer than Countersign's own 20 s, so that Countersign says how it ended
        .redirect(redirect::Policy::none()) // a redirect would send the order again
        .retry(retry::never())
        .build()?;
    for number in 1..=count {
        let reference = format!("order-{number}"); // your own key for the order, by which you find it again
        let outcome = create_order(&client, &base_url, &reference).unwrap_or_else(|error| {
            eprintln!("{reference}: no answer: {error:?}");
            "unknown".into()
        });
        match outcome.as_str() {
            "answered" => continue,
            "not_sent" => {
                eprintln!("{reference} was not sent: it may be sent again");
                exit(75);
            }
            _ => {
                eprintln!("{reference} may exist: look for it before you send it again");
                exit(1);
            }
        }
    }
    Ok(())
}
