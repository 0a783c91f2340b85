// The page's tensors: compressed bytes in separate elements, unpacked on first use.
import type { NumbersRef } from "./explanation";

/** A tensor, row by row. */
export class Numbers {
  constructor(
    readonly shape: readonly number[],
    private readonly raw: Float32Array | Uint8Array | Uint16Array | Int32Array,
    private readonly table: Float32Array | null,
  ) {}

  get length(): number {
    return this.raw.length;
  }
  at(index: number): number {
    const value = this.raw[index] as number;
    return this.table ? (this.table[value] as number) : value;
  }
  /** Numbers from `first` on, as many as there is room for in `into`. */
  copy(first: number, into: Float32Array): void {
    const { raw, table } = this;
    if (table) for (let i = 0; i < into.length; ++i) into[i] = table[raw[first + i] as number] as number;
    else into.set(raw.subarray(first, first + into.length));
  }
  /** The bytes as they are. */
  bytes(): Uint8Array {
    return new Uint8Array(this.raw.buffer);
  }
}

/** (byte / 255)^2: how weights are kept in long pages. */
const rootTable = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

let halves: Float32Array | null = null;
/** The value of every half-precision number by its bits. */
function halfTable(): Float32Array {
  halves ??= Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
  return halves;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** First all lower bytes, then all upper ones: as they compress better. */
function joinBytes(bytes: Uint8Array): Uint16Array {
  const count = bytes.length / 2;
  return Uint16Array.from({ length: count }, (_, i) => (bytes[i] as number) | ((bytes[count + i] as number) << 8));
}

/** Unpacks tensors and keeps them. */
export class Store {
  private readonly known = new Map<number, Numbers>();
  private readonly waiting = new Map<number, Promise<Numbers>>();

  constructor(
    private readonly root: Element,
    private readonly onReady: () => void,
  ) {}

  /** The tensor if it is unpacked already; else it will be, and onReady says so. */
  get(ref: NumbersRef | undefined): Numbers | undefined {
    if (!ref || ref.numbers === undefined) return undefined;
    const known = this.known.get(ref.numbers);
    if (!known) void this.load(ref).then(this.onReady);
    return known;
  }

  load(ref: NumbersRef): Promise<Numbers> {
    const number = ref.numbers as number;
    let waiting = this.waiting.get(number);
    if (!waiting) {
      waiting = this.unpack(ref).then((numbers) => {
        this.known.set(number, numbers);
        return numbers;
      });
      this.waiting.set(number, waiting);
    }
    return waiting;
  }

  private async unpack(ref: NumbersRef): Promise<Numbers> {
    const element = this.root.querySelector(`script[data-numbers="${ref.numbers}"]`);
    const packed = decodeBase64(element?.textContent ?? "");
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const shape = ref.shape ?? [];
    switch (ref.form) {
      case "float16":
        return new Numbers(shape, joinBytes(new Uint8Array(buffer)), halfTable());
      case "root":
        return new Numbers(shape, new Uint8Array(buffer), rootTable);
      case "byte":
        return new Numbers(shape, new Uint8Array(buffer), null);
      case "int32":
        return new Numbers(shape, new Int32Array(buffer), null);
      default:
        return new Numbers(shape, new Float32Array(buffer), null);
    }
  }
}
