//! What the programs share: they post each order of COUNT with a header of its own, and print its status.
use std::{env, fmt::Debug};

pub fn url() -> String {
    env("BASE_URL") + "/create_order"
}

pub fn is_set() -> bool {
    !env("SET").is_empty()
}

pub fn order() -> serde_json::Value {
    serde_json::json!({ "order_amount": 10.10, "order_currency": "EUR" })
}

pub fn tell<E: Debug>(post: impl Fn(&str, String) -> Result<u16, E>) {
    for number in 1..=env("COUNT").parse::<u32>().expect("COUNT is a number") {
        match post(&env("HEADER"), format!("order-{number}")) {
            Ok(status) => println!("{status}"),
            Err(error) => {
                println!("no answer");
                eprintln!("{error:?}");
            }
        }
    }
}

fn env(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
