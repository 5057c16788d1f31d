/* Search from disk. A browser starts no worker from a file, so a hidden frame runs its script in its place. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.queue = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.frame = frame.contentWindow
      addEventListener("message", event => {
        if (event.source !== this.frame || !event.data || !("puoc" in event.data)) return
        const told = new MessageEvent("message", {data: event.data.puoc})
        this.dispatchEvent(told)
        if (this.onmessage) this.onmessage(told)
      })
      const page = this.frame.document
      page.open()
      page.write("<!doctype html><body>")
      page.close()
      this.frame.importScripts = (...urls) => Promise.all(urls.map(one => this.load(one)))
      this.frame.postMessage = data => parentPost(this.frame, data)
      this.load(String(url)).then(() => { this.ready = true; this.queue.splice(0).forEach(data => this.deliver(data)) })
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.document.createElement("script")
        script.src = url
        script.async = false
        script.onload = resolve
        script.onerror = () => reject(new Error(`cannot load ${url}`))
        this.frame.document.body.append(script)
      })
    }
    deliver(data) { this.frame.dispatchEvent(new this.frame.MessageEvent("message", {data})) }
    postMessage(data) { if (this.ready) this.deliver(data); else this.queue.push(data) }
    terminate() { this.frame.frameElement.remove() }
  }
  const parentPost = (frame, data) => setTimeout(() => {
    dispatchEvent(new MessageEvent("message", {data: {puoc: data}, source: frame}))
  })
}
