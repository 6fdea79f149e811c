import { Download, Play, Square } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { formatDuration } from '../../lib/format.ts'

/**
 * Plays audio that was made here. It is decoded in the page, since the content security policy lets no audio element
 * load anything.
 */
export function AudioPlayer({ audio }: { audio: Blob }) {
  const [sound, setSound] = useState<AudioBuffer | null>(null)
  const [isUnknown, setIsUnknown] = useState(false)
  const [isPlaying, setIsPlaying] = useState(false)
  const source = useRef<AudioBufferSourceNode | null>(null)
  useEffect(() => {
    let isCurrent = true
    decode(audio).then(
      (decoded) => isCurrent && setSound(decoded),
      () => isCurrent && setIsUnknown(true),
    )
    return () => {
      isCurrent = false
      source.current?.stop()
    }
  }, [audio])
  const play = (buffer: AudioBuffer) => {
    const context = new AudioContext()
    const node = new AudioBufferSourceNode(context, { buffer })
    node.connect(context.destination)
    node.onended = () => {
      setIsPlaying(false)
      void context.close()
    }
    node.start()
    source.current = node
    setIsPlaying(true)
  }
  return (
    <div className="stack">
      <div className="row">
        {sound && !isPlaying && (
          <Button icon={Play} onClick={() => play(sound)}>
            Play
          </Button>
        )}
        {isPlaying && (
          <Button icon={Square} onClick={() => source.current?.stop()}>
            Stop
          </Button>
        )}
        {sound && <span className="tabular-nums">{formatDuration(sound.duration * 1_000)}</span>}
        <DownloadLink audio={audio} />
      </div>
      {isUnknown && <Note>This browser cannot play the format. Download the file.</Note>}
    </div>
  )
}

/** An offline context decodes without asking for the loudspeaker. */
async function decode(audio: Blob): Promise<AudioBuffer> {
  return new OfflineAudioContext(1, 1, 44_100).decodeAudioData(await audio.arrayBuffer())
}

function DownloadLink({ audio }: { audio: Blob }) {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(audio)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [audio])
  const [, ending = 'audio'] = /^audio\/(?:x-)?([a-z0-9]+)/.exec(audio.type) ?? []
  return (
    <a className="button" href={address} download={`speech.${ending === 'mpeg' ? 'mp3' : ending}`}>
      <Download size={16} aria-hidden="true" />
      Download
    </a>
  )
}
