// Resumable uploads with tus-js-client: a line for each check, "ok NAME" or "not ok NAME: REASON".

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import * as tus from 'tus-js-client'

const { STORAGE_URL: url, STORAGE_KEY: key } = process.env
const headers = { authorization: `Bearer ${key}`, apikey: key }
const PART = 6 * 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'tus-'))

/** Starts an upload; `whenDone` settles when it ends, `upload` can be ended before. */
function begin(name, content, more = {}) {
  let upload
  const whenDone = new Promise((resolve, reject) => {
    upload = new tus.Upload(content, {
      endpoint: `${url}/upload/resumable`,
      headers: { ...headers, 'x-upsert': 'true' },
      chunkSize: PART,
      retryDelays: [0, 500],
      uploadDataDuringCreation: true,
      removeFingerprintOnSuccess: true,
      metadata: { bucketName: 'tus', objectName: name, contentType: 'application/octet-stream', cacheControl: '3600' },
      onSuccess: () => resolve(upload),
      onError: reject,
      ...more,
    })
  })
  return { upload, whenDone }
}

async function expectContent(name, content) {
  const response = await fetch(`${url}/object/authenticated/tus/${name}`, { headers })
  const stored = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200 || !stored.equals(content)) {
    throw new Error(`status ${response.status}, ${stored.length} of ${content.length} bytes, or other ones`)
  }
}

const checks = {
  async 'content arrives in parts'() {
    const content = randomBytes(2 * PART + 12345)
    const { upload, whenDone } = begin('parts', content)
    upload.start()
    await whenDone
    await expectContent('parts', content)
  },

  async 'content arrives with the creation'() {
    const content = randomBytes(1000)
    const { upload, whenDone } = begin('small', content)
    upload.start()
    await whenDone
    await expectContent('small', content)
  },

  async 'empty content arrives'() {
    const { upload, whenDone } = begin('empty', Buffer.alloc(0))
    upload.start()
    await whenDone
    await expectContent('empty', Buffer.alloc(0))
  },

  async 'interrupted upload goes on'() {
    const content = randomBytes(3 * PART)
    const urlStorage = new tus.FileUrlStorage(join(folder, 'urls'))
    const shared = { urlStorage, fingerprint: async () => 'interrupted' }
    const first = begin('interrupted', content, {
      ...shared,
      onChunkComplete: () => interrupt(),
    })
    let interrupt
    const interrupted = new Promise((resolve) => (interrupt = resolve))
    first.upload.start()
    await interrupted
    await first.upload.abort()
    const second = begin('interrupted', content, shared)
    const earlier = await second.upload.findPreviousUploads()
    if (earlier.length !== 1) throw new Error(`${earlier.length} earlier uploads`)
    second.upload.resumeFromPreviousUpload(earlier[0])
    second.upload.start()
    await second.whenDone
    if (second.upload.url !== first.upload.url) throw new Error('another upload began')
    await expectContent('interrupted', content)
  },

  async 'content of unknown length arrives'() {
    const content = randomBytes(PART + 777)
    const stream = new PassThrough()
    const { upload, whenDone } = begin('deferred', stream, { uploadLengthDeferred: true, uploadDataDuringCreation: false })
    upload.start()
    stream.end(content)
    await whenDone
    await expectContent('deferred', content)
  },

  async 'terminated upload is gone'() {
    const content = randomBytes(3 * PART)
    let stop
    const begun = new Promise((resolve) => (stop = resolve))
    const { upload } = begin('terminated', content, { onChunkComplete: () => stop() })
    upload.start()
    await begun
    await upload.abort(true)
    const response = await fetch(upload.url, { method: 'HEAD', headers: { ...headers, 'tus-resumable': '1.0.0' } })
    if (response.status !== 404) throw new Error(`status ${response.status}`)
  },

  async 'existing object is not replaced without x-upsert'() {
    const { upload, whenDone } = begin('small', randomBytes(1000), { headers, retryDelays: null })
    upload.start()
    const refused = await whenDone.then(() => null, (error) => error)
    const status = refused?.originalResponse?.getStatus()
    if (status !== 409) throw new Error(`status ${status}`)
  },
}

await fetch(`${url}/bucket`, {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'tus' }),
})
let failed = false
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(`ok ${name}`)
  } catch (error) {
    failed = true
    console.log(`not ok ${name}: ${String(error.message ?? error).split('\n')[0]}`)
  }
}
rmSync(folder, { recursive: true, force: true })
process.exit(failed ? 1 : 0)
