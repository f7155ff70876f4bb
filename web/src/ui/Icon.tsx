/** Line icons, 16 px, of navigation and controls. */
const paths = {
  fleet: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z",
  nodes:
    "M2 3.2A1.2 1.2 0 0 1 3.2 2h9.6A1.2 1.2 0 0 1 14 3.2v2.6A1.2 1.2 0 0 1 12.8 7H3.2A1.2 1.2 0 0 1 2 5.8zM2 10.2A1.2 1.2 0 0 1 3.2 9h9.6a1.2 1.2 0 0 1 1.2 1.2v2.6a1.2 1.2 0 0 1-1.2 1.2H3.2A1.2 1.2 0 0 1 2 12.8zM4.6 4.5h.1M4.6 11.5h.1",
  jobs: "M2 4h12M2 8h7M2 12h5M10.5 9.4l3.3 2.1-3.3 2.1z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.7 10.7 14 14",
  filter: "M2 4h12M4.5 8h7M7 12h2",
  plus: "M8 2.5v11M2.5 8h11",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  close: "m3.5 3.5 9 9m0-9-9 9",
  copy: "M5.5 5.5h8v8h-8zM10.5 2.5h-8v8",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  back: "M10 3 5 8l5 5",
  forward: "m6 3 5 5-5 5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1",
  leave: "M6.5 2.5h-3v11h3M6.5 8h7M10.8 5.2 13.6 8l-2.8 2.8",
  check: "m2.5 8.5 3.5 3.5 7.5-8",
  down: "M3.5 6 8 10.5 12.5 6",
  up: "M3.5 10 8 5.5 12.5 10",
  bell: "M8 2a4 4 0 0 0-4 4c0 3.4-1.5 4.6-1.5 5.5h11C13.5 10.6 12 9.4 12 6a4 4 0 0 0-4-4M6.6 13.7a1.6 1.6 0 0 0 2.8 0",
  box: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.7 5.1 8 8.2l5.3-3.1M8 8.2v5.8",
  list: "M5.5 4H14M5.5 8H14M5.5 12H14M2.3 4h.1M2.3 8h.1M2.3 12h.1",
  arrow: "M2.5 8h11M9.5 4l4 4-4 4",
  lock: "M4 7.2h8v6.3H4zM5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2",
  pin: "M8 14.2c3.2-3.4 4.8-5.6 4.8-7.6a4.8 4.8 0 0 0-9.6 0c0 2 1.6 4.2 4.8 7.6M8 8.4a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.5 14c.5-3 2.6-4.2 5.5-4.2s5 1.2 5.5 4.2",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark: two waves and a drop. */
export function Mark() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="var(--accent)" strokeWidth="1.8" strokeLinecap="round" aria-hidden="true">
      <path d="M1.5 10.8c2 0 2.3-1.5 4.3-1.5s2.3 1.5 4.2 1.5 2.3-1.5 4.3-1.5 2.2 1.5 4.2 1.5" />
      <path d="M4.5 15.2c1.6 0 1.9-1.3 3.6-1.3s2 1.3 3.7 1.3 2-1.3 3.7-1.3" />
      <circle cx="10.2" cy="4.6" r="1.5" fill="var(--accent)" stroke="none" />
    </svg>
  );
}
