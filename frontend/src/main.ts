import { preloadFirstPicture } from "./features/catalogue/first-picture.ts";
import "./styles.css";

// The largest picture and the program that shows it travel side by side: the page itself names the
// program (see `build/program-preload.ts`), this small script names the picture.
preloadFirstPicture(location);
void import("./app/start.tsx");
