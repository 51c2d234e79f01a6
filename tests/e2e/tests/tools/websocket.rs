//! Tests a WebSocket client that is not a browser.

use crate::site;
use crate::tool::{missing, run, text};

#[test]
fn a_websocket_client_is_answered() {
    // Only newer versions of curl support WebSocket. Debian has a package for Python.
    let site = site();
    let script = format!(
        "import asyncio, websockets\n\
         async def main():\n\
         \x20   async with websockets.connect('ws://{}/ws') as ws:\n\
         \x20       for size in (1, 200, 70000):\n\
         \x20           await ws.send('x' * size)\n\
         \x20           assert await ws.recv() == 'x' * size\n\
         \x20       await (await ws.ping())\n\
         \x20   print('all well')\n\
         asyncio.run(main())\n",
        site.weir.addr("web")
    );
    // Debian's own Python: another one earlier in PATH does not have Debian's packages.
    let python = |script| run("/usr/bin/python3", &["-I", "-c", script]);
    if !python("import websockets").status.success() {
        missing("python3-websockets");
    }
    let output = text(&python(&script));
    assert!(output.contains("all well"), "{output}");
}
