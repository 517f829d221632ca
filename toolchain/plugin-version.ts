/**
 * Asks a Pulumi plugin for its version: the unary gRPC call pulumirpc.ResourceProvider/GetPluginInfo
 * (pulumi/pulumi, proto/pulumi/provider.proto), which takes an empty message and gives one with the version as
 * field 1. One call of one field is less to carry than a gRPC library.
 */
import { connect } from "node:http2";

/** A gRPC frame: one byte "not compressed", four bytes of length, no content. */
const emptyMessage = Buffer.alloc(5);

/** @throws Error when the bytes are not a frame with a string in field 1. */
function readVersion(frame: Buffer): string {
  // 0x0a is field 1, length-delimited; a version is shorter than 128 bytes, so its length is one byte.
  const length = frame[6];
  if (frame[5] !== 0x0a || length === undefined || length > 127 || frame.length < 7 + length) {
    throw new Error("the answer holds no version");
  }
  return frame.subarray(7, 7 + length).toString("utf8");
}

export function askPluginVersion(port: number, limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const fail = (error: Error): void => {
      session.destroy();
      reject(error);
    };
    session.on("error", fail);
    session.setTimeout(limitMs, () => {
      fail(new Error("no answer in time"));
    });
    const chunks: Buffer[] = [];
    const request = session.request({
      ":method": "POST",
      ":path": "/pulumirpc.ResourceProvider/GetPluginInfo",
      "content-type": "application/grpc",
      te: "trailers",
    });
    request.on("error", fail);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      session.close();
      try {
        resolve(readVersion(Buffer.concat(chunks)));
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    request.end(emptyMessage);
  });
}
