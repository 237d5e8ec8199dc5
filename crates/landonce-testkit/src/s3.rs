//! An S3-compatible server of the test's own: moto, from PyPI, in the Python that `LANDONCE_TEST_PYTHON` names.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The bucket that a fresh server has.
pub const BUCKET: &str = "landonce-test";

/// Lives until its standard input is closed, so it ends with the test whatever ends that.
const SERVER: &str = "
import sys, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
url = 'http://%s:%s' % server.get_host_and_port()
boto3.client('s3', endpoint_url=url, region_name='us-east-1', aws_access_key_id='test', aws_secret_access_key='sekret'
             ).create_bucket(Bucket=sys.argv[1])
print(url, flush=True)
sys.stdin.read()
";

/// A running server with an empty bucket.
#[derive(Debug)]
pub struct Server {
    process: Child,
    url: String,
}

impl Server {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// When Python lacks moto.
    pub fn start() -> Self {
        let python = std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut process = Command::new(&python)
            .args(["-c", SERVER, BUCKET])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{python}: {error}"));
        let mut url = String::new();
        BufReader::new(process.stdout.take().expect("it is piped"))
            .read_line(&mut url)
            .expect("a server that says where it is");
        let url = url.trim().to_owned();
        assert!(!url.is_empty(), "{python} can't run moto: `pip install 'moto[server]'`");
        Self { process, url }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The environment in which a program reaches it.
    pub fn environment(&self) -> [(&'static str, &str); 5] {
        [
            ("AWS_ENDPOINT_URL", &self.url),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "sekret"),
        ]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
