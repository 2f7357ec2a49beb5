<?php
// A tile of a map. With etags=1 the server works for the ETag, and works as hard to say that nothing has changed: what the
// map server of the paper did.
$tile = $_GET['t'] ?? '';
if (!preg_match('#^/tiles/[0-9]+/[0-9]+/[0-9]+\.jpg$#D', $tile) || !is_file(__DIR__ . $tile)) {
    http_response_code(404);
    exit;
}
$body = file_get_contents(__DIR__ . $tile);
if (($_GET['etags'] ?? '0') === '1') {
    $sum = '';
    for ($turn = 0; $turn < 60; $turn++) {
        $sum = hash('sha256', $sum . $body);
    }
    header("ETag: \"$sum\"");
    header('Cache-Control: no-cache');
    if (($_SERVER['HTTP_IF_NONE_MATCH'] ?? '') === "\"$sum\"") {
        http_response_code(304);
        exit;
    }
}
header('Content-Type: image/jpeg');
echo $body;
