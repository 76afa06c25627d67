use orders::{order, tell, url};
use reqwest::blocking::Client;

fn main() {
    let client = Client::new();
    tell(|header, reference| {
        let answer = client.post(url()).header(header, reference).json(&order()).send()?;
        let status = answer.status().as_u16();
        answer.bytes().map(|_| status)
    });
}
